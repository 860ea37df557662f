package pytest

import "github.com/flameox/flameox/providers"

// Locate is an interpreter that has pytest-reportlog, and so pytest.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"python", "python3"}, Library: "pytest-reportlog", Language: "python", Install: "add pytest and pytest-reportlog to the requirements of the workload's environment, or run `python -m pip install pytest pytest-reportlog`"}
}

// Qualifications are of runs of pytest, and of logs of older ones.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version: "1.0.0", Series: "1.0",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by pytest 7.4.4, 8.4.2 and 9.2.0",
			Exercised: []string{
				"every outcome, reruns of pytest-rerunfailures, subtests, fixtures, deselection and -x", "pytest-xdist 3.5 and 3.8 with two workers, one of which is killed",
				"counts, compared with what pytest prints",
			},
			Blind: []string{"Windows and macOS", "xdist over ssh", "plugins that change how reports are serialized"},
			Test:  "providers/pytest.TestRealRuns",
		},
		{
			Version:   "logs of pytest 7.2.1",
			Origin:    "runs of pytest 7.2.1 and pytest-xdist 3.1.0 without flameox's plugin",
			Exercised: []string{"a killed controller, an internal error, a killed worker", "results, compared with Python that reads the same logs"},
			Blind:     []string{"captures: this version is not run", "latencies, for which these logs have no times"},
			Test:      "providers/pytest.TestFixturesAgreeWithPython",
		},
	}
}
