package tool

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
)

// source is an archive that is read twice at most: a zip's list is at its end.
type source interface {
	io.Reader
	io.ReaderAt
}

// unpack writes the executable that is in the archive, or is it, to w. Nothing else of the archive is written anywhere, so names, links and
// modes in it can do no harm; the member itself must be a file, and one only.
func unpack(src source, size int64, member string, w io.Writer) error {
	buffered := bufio.NewReaderSize(src, 64<<10)
	head, _ := buffered.Peek(6)
	var plain io.Reader = buffered
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return fmt.Errorf("it is no gzip file: %w", err)
		}
		defer z.Close()
		plain = z
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) && member != "":
		return unzip(src, size, member, w)
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return errors.New("it is compressed with xz, which flameox does not unpack; publishers often have a .tar.gz or .zip beside it")
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return errors.New("it is compressed with zstd, which flameox does not unpack; publishers often have a .tar.gz or .zip beside it")
	}
	if member == "" {
		return bounded(w, plain)
	}
	return untar(plain, member, w)
}

// bounded copies at most maxSize bytes: a small file may unpack to any number.
func bounded(w io.Writer, r io.Reader) error {
	n, err := io.Copy(w, io.LimitReader(r, maxSize+1))
	if err == nil && n > maxSize {
		err = fmt.Errorf("the executable has more than %d bytes", int64(maxSize))
	}
	return err
}

func untar(r io.Reader, member string, w io.Writer) error {
	// What is before the member counts too.
	left := &io.LimitedReader{R: r, N: 4 * maxSize}
	t := tar.NewReader(left)
	found := false
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF && left.N <= 0:
			return errors.New("the archive is larger than any tool is")
		case err == io.EOF && !found:
			return fmt.Errorf("it has no file %s", member)
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("it is no tar archive, or damaged: %w", err)
		case path.Clean(h.Name) != member:
			continue
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%s in it is not a file", member)
		case found:
			return fmt.Errorf("it has %s twice", member)
		}
		found = true
		if err := bounded(w, t); err != nil {
			return fmt.Errorf("take %s out: %w", member, err)
		}
	}
}

func unzip(src io.ReaderAt, size int64, member string, w io.Writer) error {
	z, err := zip.NewReader(src, size)
	if err != nil {
		return fmt.Errorf("it is no zip archive, or damaged: %w", err)
	}
	var found *zip.File
	for _, f := range z.File {
		if path.Clean(f.Name) != member {
			continue
		}
		if found != nil {
			return fmt.Errorf("it has %s twice", member)
		}
		found = f
	}
	switch {
	case found == nil:
		return fmt.Errorf("it has no file %s", member)
	case !found.Mode().IsRegular():
		return fmt.Errorf("%s in it is not a file", member)
	}
	r, err := found.Open()
	if err != nil {
		return fmt.Errorf("take %s out: %w", member, err)
	}
	defer r.Close()
	if err := bounded(w, r); err != nil {
		return fmt.Errorf("take %s out: %w", member, err)
	}
	return nil
}
