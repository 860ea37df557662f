package main

// The exit codes of every command; `flameox -help` prints them.
const (
	exitOK          = 0
	exitError1      = 1 // error, usage, refused
	exitWork        = 2 // plan -detailed-exitcode: there is work to do
	exitLost        = 3 // evidence is lost, or runs are incomparable
	exitGate        = 4 // a check or a gate failed
	exitSome        = 5 // some stages failed, the rest is done
	exitInterrupted = 130
)

const exitCodesHelp = `Exit codes: 0 done or nothing to do; 1 error, usage, refused; 2 work to do (plan -detailed-exitcode);
3 evidence lost or incomparable; 4 a check failed; 5 some stages failed, the rest is done; 130 interrupted.`

// exitError ends the process with a code. Its err, if any, is printed; nil means that all has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return "exit"
	}
	return e.err.Error()
}

// fail is an exit with a code and nothing more to say.
func fail(code int) error { return &exitError{code: code} }
