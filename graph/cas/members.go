package cas

import (
	"errors"

	"github.com/flameox/flameox/internal/digest"
)

// maxMembers is how many blobs a tree may have whose list is remembered. Listing a larger one costs little beside looking
// at each of its blobs, and its list would take room that thousands of small ones share.
const maxMembers = 256

// CheckTree is Check of every directory and file of a tree: Present where all of them are, and what is wrong with one of
// them otherwise. Which blobs a tree has follows from its digest, so it is remembered beside the root's stat and
// the directories are read once in the life of the store; that each blob is still what it was is asked every time.
func (s *Store) CheckTree(root digest.Digest) Presence {
	p, _ := s.LookTree(root)
	return p
}

// LookTree is CheckTree that tells a tree of which something is missing or wrong from one of which something could not be read, as Look does:
// it ends at the first blob of which either is so.
func (s *Store) LookTree(root digest.Digest) (Presence, error) {
	members, ok := s.members(root)
	if !ok {
		list, err := s.nodes(root)
		if err != nil {
			return s.notListed(err)
		}
		seen := make(map[digest.Digest]bool, len(list))
		for _, n := range list {
			if n.Digest != root && !seen[n.Digest] {
				seen[n.Digest] = true
				members = append(members, n.Digest)
			}
		}
		s.keepMembers(root, members)
	}
	if p, err := s.Look(root); p != Present {
		return p, err
	}
	for _, d := range members {
		if p, err := s.Look(d); p != Present {
			return p, err
		}
	}
	return Present, nil
}

// notListed says what it means for a tree that its directories could not be listed.
func (s *Store) notListed(err error) (Presence, error) {
	var blob *BlobError
	switch {
	case !errors.As(err, &blob):
		return Damaged, nil // the bytes are those that were stored, and no directory
	case blob.Err == nil:
		return blob.Presence, nil
	}
	// The system refused to read it. What the file is, if it can be no blob, is known all the same.
	if p, lookErr := s.Look(blob.Digest); p != Present && lookErr == nil {
		return p, nil
	}
	return Damaged, err
}

// members are the blobs of a tree but its root, where they are remembered.
func (s *Store) members(root digest.Digest) ([]digest.Digest, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if m, ok := s.trees[root]; ok {
		return m, true
	}
	text := s.index.membersOf(root)
	if len(text) == 0 || s.Distrust {
		return nil, false
	}
	out := make([]digest.Digest, len(text)/len(root))
	for i := range out {
		copy(out[i][:], text[i*len(root):])
	}
	return out, true
}

// keepMembers remembers the blobs of a tree. An empty list would look like the row of a blob that is no tree.
func (s *Store) keepMembers(root digest.Digest, members []digest.Digest) {
	if len(members) == 0 || len(members) > maxMembers {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees[root] = members
}

// membersText is what the row of a blob says of the tree that it is the root of. Caller holds mu.
func (s *Store) membersText(root digest.Digest) string {
	m, ok := s.trees[root]
	if !ok {
		return string(s.index.membersOf(root))
	}
	b := make([]byte, 0, len(m)*len(root))
	for i := range m {
		b = append(b, m[i][:]...)
	}
	return string(b)
}

// membersOf is the text of the row of root; nothing where it is no list of digests.
func (t *table) membersOf(root digest.Digest) []byte {
	for i := range t.bucket(blobHash(root)) {
		if t.digest(i) == root {
			if b := t.path(i); len(b)%len(root) == 0 {
				return b
			}
		}
	}
	return nil
}
