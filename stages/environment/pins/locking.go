package pins

// Locking says how a lock that is there is treated.
type Locking struct {
	Upgrade bool // newer versions may take the place of locked ones
	Accept  bool // a lock that was edited is pinned as it is
}

// Locked is what became of a lock file.
type Locked struct {
	File     string `json:"file" doc:"relative to the configuration"`
	State    string `json:"state" doc:"locked, pinned or unchanged"`
	Packages int    `json:"packages" doc:"that the lock names"`
	Tool     string `json:"tool,omitempty" doc:"that made it now"`
}

// The states of Locked.
const (
	Made      = "locked"    // it was made or made anew
	Pinned    = "pinned"    // it is as it was, and pinned now
	Unchanged = "unchanged" // nothing was done
)
