package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/digest"
)

// Failure is a class of what can go wrong with a tool.
type Failure string

// The failures.
const (
	Unreachable Failure = "unreachable" // the download was refused, broke off or took too long; the part is kept
	WrongSize   Failure = "size"        // more or fewer bytes than the configuration says
	WrongBytes  Failure = "digest"      // other bytes than the configuration says
	WrongFormat Failure = "archive"     // the executable cannot be taken out
	Missing     Failure = "missing"     // neither the executable nor the download is here
)

// Error says what became of a tool and what to do.
type Error struct {
	Kind Failure
	Text string
	Err  error
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Err }

// Limits of a download beside its size and its deadline.
const (
	silence   = 60 * time.Second // without a byte, after which a connection is given up
	maxCuts   = 20               // connections that broke off, in one download
	redirects = 5
)

// client is the only one that downloads. It answers to no server with more than a request for one file.
type client struct {
	http    *http.Client
	silence time.Duration
	pause   time.Duration // before a cut connection is made anew; doubles
}

func newClient() *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // what is stored is hashed, not what it unpacks to
	transport.ResponseHeaderTimeout = silence
	return &client{silence: silence, pause: 100 * time.Millisecond, http: &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > redirects {
			return fmt.Errorf("more than %d redirects", redirects)
		}
		if _, err := parseURL(r.URL.String()); err != nil || r.URL.Scheme == "file" || via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return errors.New("it redirects to an address that is not https")
		}
		return nil
	}}}
}

// fetch makes file the whole download: what is there already is taken as its beginning. When it returns nil the file's size and digest are
// those of t. A part whose whole turns out to be something else is removed, and fetched once from its beginning.
func (c *client) fetch(ctx context.Context, t *Tool, file string) error {
	ctx, cancel := context.WithTimeout(ctx, t.o.Timeout)
	defer cancel()
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("keep the download of %s: %w", t.Address, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("keep the download of %s: %w", t.Address, err)
	}
	for resumed := info.Size() > 0; ; resumed = false {
		if err := c.whole(ctx, t, f); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read the download of %s: %w", t.Address, err)
		}
		sum, _, err := digest.SumReader(f)
		if err != nil {
			return fmt.Errorf("read the download of %s: %w", t.Address, err)
		}
		if sum == t.archive {
			return nil
		}
		if err := f.Truncate(0); err != nil {
			return fmt.Errorf("empty the download of %s: %w", t.Address, err)
		}
		if !resumed {
			return &Error{Kind: WrongBytes, Text: fmt.Sprintf("what %s answers has the SHA-256 %s and not %s: it was replaced there, or sha256 is wrong. Nothing of it was kept or run", redact(t.url), sum, t.archive)}
		}
	}
}

// whole asks until the file has its size.
func (c *client) whole(ctx context.Context, t *Tool, f *os.File) error {
	cannot := func(err error) error {
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
			err = fmt.Errorf("it took longer than timeout = %s", t.o.Timeout)
		}
		return &Error{Kind: Unreachable, Text: fmt.Sprintf("%s could not be downloaded: %v. What has come is kept, and the next apply goes on from there", redact(t.url), err), Err: err}
	}
	pause := c.pause
	for cuts := 0; ; cuts++ {
		have, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return fmt.Errorf("keep the download of %s: %w", t.Address, err)
		}
		if have > t.o.Size {
			if err := f.Truncate(0); err != nil {
				return fmt.Errorf("empty the download of %s: %w", t.Address, err)
			}
			continue
		}
		if have == t.o.Size {
			return nil
		}
		again, err := c.part(ctx, t, f, have)
		if err == nil {
			continue
		}
		var wrong *Error
		if errors.As(err, &wrong) {
			return err
		}
		if !again || cuts >= maxCuts || ctx.Err() != nil {
			return cannot(err)
		}
		if now, err := f.Seek(0, io.SeekEnd); err == nil && now > have {
			pause = c.pause // it goes on, if slowly
		}
		select {
		case <-ctx.Done():
			return cannot(ctx.Err())
		case <-time.After(pause):
			pause = min(2*pause, 5*time.Second)
		}
	}
}

// part asks for what is missing from have on, and appends it. again says that asking again may help.
func (c *client) part(ctx context.Context, t *Tool, f *os.File, have int64) (again bool, err error) {
	if t.url.Scheme == "file" {
		return false, copyFile(t, f, have)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("User-Agent", "flameox")
	req.Header.Set("Accept-Encoding", "identity")
	if have > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(have, 10)+"-")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return !strings.Contains(err.Error(), "redirect"), plain(err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusPartialContent && have > 0 && strings.HasPrefix(res.Header.Get("Content-Range"), "bytes "+strconv.FormatInt(have, 10)+"-"):
	case res.StatusCode == http.StatusOK, have > 0 && res.StatusCode == http.StatusRequestedRangeNotSatisfiable, have > 0 && res.StatusCode == http.StatusPartialContent:
		// The server does not know ranges, or has fewer bytes than we do: from the beginning.
		if err := f.Truncate(0); err != nil {
			return false, fmt.Errorf("empty the download of %s: %w", t.Address, err)
		}
		if res.StatusCode != http.StatusOK {
			return true, fmt.Errorf("the server answered %s", res.Status)
		}
		have = 0
	case res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests:
		return true, fmt.Errorf("the server answered %s", res.Status)
	default:
		return false, fmt.Errorf("the server answered %s", res.Status)
	}
	if res.ContentLength >= 0 && have+res.ContentLength != t.o.Size {
		return false, wrongSize(t, have+res.ContentLength)
	}
	if _, err := f.Seek(have, io.SeekStart); err != nil {
		return false, err
	}
	// A server that says nothing for long is gone, though its connection stands.
	quiet := time.AfterFunc(c.silence, func() { cancel(fmt.Errorf("no byte came for %s", c.silence)) })
	defer quiet.Stop()
	body := reader(func(p []byte) (int, error) {
		n, err := res.Body.Read(p)
		if n > 0 {
			quiet.Reset(c.silence)
		}
		return n, err
	})
	n, err := io.Copy(f, io.LimitReader(body, t.o.Size-have+1))
	switch {
	case have+n > t.o.Size:
		f.Truncate(0)
		return false, wrongSize(t, -1)
	case err != nil && context.Cause(ctx) != nil:
		return true, context.Cause(ctx)
	case err != nil:
		return true, plain(err)
	case have+n < t.o.Size:
		return true, io.ErrUnexpectedEOF
	}
	return false, nil
}

type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// copyFile copies what is missing from a file of this machine.
func copyFile(t *Tool, f *os.File, have int64) error {
	src, err := os.Open(t.url.Path)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file", t.url.Path)
	case info.Size() != t.o.Size:
		return wrongSize(t, info.Size())
	}
	if _, err := src.Seek(have, io.SeekStart); err != nil {
		return err
	}
	if n, err := io.Copy(f, io.LimitReader(src, t.o.Size-have)); err != nil || have+n < t.o.Size {
		return errors.Join(err, errors.New("it changed while it was read"))
	}
	return nil
}

// wrongSize is the error of a download of other bytes than declared; size is -1 where only that it is more is known.
func wrongSize(t *Tool, size int64) error {
	is := fmt.Sprintf("has %d bytes", size)
	if size < 0 {
		is = "has more bytes"
	}
	return &Error{Kind: WrongSize, Text: fmt.Sprintf("what %s answers %s, and size = %d: it was replaced there, or size is wrong. Nothing of it was kept or run", redact(t.url), is, t.o.Size)}
}

// plain leaves out what the error repeats of the address.
func plain(err error) error {
	var u interface{ Unwrap() error }
	if errors.As(err, &u) && strings.HasPrefix(err.Error(), "Get ") {
		return u.Unwrap()
	}
	return err
}
