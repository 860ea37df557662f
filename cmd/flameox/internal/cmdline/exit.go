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

// ExitCodesHelp is the table as -help prints it.
const ExitCodesHelp = `Exit codes: 0 done or nothing to do; 1 error, usage, refused; 2 work to do (plan -detailed-exitcode);
3 evidence lost or incomparable; 4 a check failed; 5 some stages failed, the rest is done; 130 interrupted.`

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
