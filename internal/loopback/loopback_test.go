package loopback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestOnlyThisMachineIsAsked(t *testing.T) {
	for _, bad := range []string{"https://127.0.0.1:1", "http://10.0.0.1:80", "http://example.com:80", "http://127.0.0.1", "http://u:p@127.0.0.1:1", "http://127.0.0.1:1/?q", "http://127.0.0.1:1/#f", "127.0.0.1:1", "http://[::2]:1", "http://%zz", "http://127.0.0.1:0", "http://127.0.0.1:65536"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	for _, good := range []string{"http://127.0.0.1:8000", "http://localhost:1/v1", "http://[::1]:9", "http://127.9.9.9:1"} {
		if _, err := Parse(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	var e *Error
	if _, err := Get(context.Background(), "http://192.0.2.1:80/"); !errors.As(err, &e) || e.Kind != Foreign {
		t.Errorf("a foreign address gives %v", err)
	}
}

func TestRedirectsAreAnswersAndAreNotFollowed(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "http://example.com/", http.StatusFound)
	}))
	defer s.Close()
	a, err := Get(context.Background(), s.URL)
	if err != nil || a.Status != http.StatusFound || asked != 1 {
		t.Errorf("%+v, %v after %d requests", a, err, asked)
	}
}

func TestFailuresHaveAKind(t *testing.T) {
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", MaxBody+1))
	}))
	defer large.Close()
	stop := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-stop
	}))
	defer slow.Close()
	defer close(stop)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "SSH-2.0-x\r\n")
			c.Close()
		}
	}()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]Kind{
		large.URL: TooLarge, slow.URL: TooSlow, "http://" + l.Addr().String(): Broken, fmt.Sprintf("http://127.0.0.1:%d", port): Refused,
	} {
		begin := time.Now()
		_, err := Get(context.Background(), url)
		var e *Error
		if !errors.As(err, &e) || e.Kind != want {
			t.Errorf("%s: %v, want the kind %s", url, err, want)
		}
		if took := time.Since(begin); took > Timeout+time.Second {
			t.Errorf("%s took %s", url, took)
		}
	}
}

func TestAPortIsTakenWhileSomethingListens(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp4", at)
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		if !Taken(port) {
			t.Errorf("a port of %s on which something listens is free", at)
		}
		l.Close()
		if Taken(port) {
			t.Errorf("a port of %s on which nothing listens any more is taken", at)
		}
	}
}

func TestConnectionsAreMadeToThisMachineOnly(t *testing.T) {
	var e *Error
	if err := Connect(context.Background(), "192.0.2.1:80"); !errors.As(err, &e) || e.Kind != Foreign {
		t.Errorf("a foreign address gives %v", err)
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	if err := Connect(context.Background(), s.Listener.Addr().String()); err != nil {
		t.Error(err)
	}
	if a, err := Get(context.Background(), s.URL); err != nil || a.Status != http.StatusNotFound {
		t.Errorf("%+v, %v past a proxy that is not there", a, err)
	}
}
