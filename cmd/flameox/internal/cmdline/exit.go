package cmdline

// The exit codes of every command; `flameox -help` prints them.
const (
	ExitOK          = 0
	ExitFailure     = 1 // error, usage, refused
	ExitWork        = 2 // plan -detailed-exitcode: there is work to do
	ExitLost        = 3 // evidence is lost, or runs are incomparable
	ExitGate        = 4 // a check or a gate failed
	ExitSome        = 5 // some stages failed, the rest is done
	ExitInterrupted = 130
)

// ExitCode is one of them with what it means.
type ExitCode struct {
	Code    int
	Meaning string
}

// ExitCodes are all of them, as help and the manual print them.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{ExitOK, "done, or nothing to do"},
		{ExitFailure, "error, wrong usage, or refused"},
		{ExitWork, "there is work to do (plan -detailed-exitcode)"},
		{ExitLost, "evidence is lost, or runs are incomparable"},
		{ExitGate, "a check failed, or bytes differ (audit)"},
		{ExitSome, "some stages failed, the rest is done"},
		{ExitInterrupted, "interrupted; finished work is kept"},
	}
}

// ExitError ends the process with a code. Err, if any, is printed; nil means that all has been said.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return "exit"
	}
	return e.Err.Error()
}

// Exit is an exit with a code and nothing more to say.
func Exit(code int) error { return &ExitError{Code: code} }
