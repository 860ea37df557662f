package kind

import "sync"

// Memo remembers answers that hold for one look at the project: what a pattern expanded to, what a
// program resolved to. It is emptied before a stage starts, so that nothing stale enters a key.
type Memo struct {
	mu sync.Mutex
	m  map[any]any
}

// NewMemo is an empty memo.
func NewMemo() *Memo { return &Memo{m: map[any]any{}} }

// Reset forgets everything.
func (m *Memo) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.m)
}

// Remember returns the value made for key before, or makes it. Errors are not remembered.
func Remember[T any](m *Memo, key any, make func() (T, error)) (T, error) {
	m.mu.Lock()
	v, ok := m.m[key]
	m.mu.Unlock()
	if ok {
		return v.(T), nil
	}
	t, err := make()
	if err == nil {
		m.mu.Lock()
		m.m[key] = t
		m.mu.Unlock()
	}
	return t, err
}
