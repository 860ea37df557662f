package workspace

import "github.com/flameox/flameox/graph/cache"

// As makes everything that is planned from now on be planned as on a machine of the class: keys of measurements, whose results stand, which
// earlier runs an estimate is made of. Programs, files and environments stay this machine's. Nothing may be applied in the workspace any more.
func (w *Workspace) As(class map[string]string) {
	w.Project.HostClass = class
	w.Store.HostClass = cache.ClassDigest(class)
}
