//go:build unix

package main

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"gatehouse.dev/fake/cloud"
)

// saboteur spoils the cloud's calls as the environment of a script says.
type saboteur struct {
	killAt int64  // the process dies by SIGKILL right after this many writes
	deny   string // calls of this name are refused for ever
	writes atomic.Int64
}

func saboteurFrom(env func(string) string) cloud.Interceptor {
	kill, _ := strconv.ParseInt(env("GATEHOUSE_TEST_KILL"), 10, 64) // unset is never
	return &saboteur{killAt: kill, deny: env("GATEHOUSE_TEST_DENY")}
}

// Before implements cloud.Interceptor.
func (s *saboteur) Before(call cloud.Call) cloud.Fault {
	if s.deny != "" && strings.HasPrefix(call.Name, s.deny) {
		return cloud.Fault{Kind: cloud.Refuse, Error: &cloud.CallError{Code: cloud.AccessDenied, Message: "role shop may not call " + call.Name}}
	}
	return cloud.Fault{}
}

// After implements cloud.Interceptor.
func (s *saboteur) After(call cloud.Call) {
	if call.Write && s.killAt > 0 && s.writes.Add(1) == s.killAt {
		process, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = process.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {} // nothing more happens in this process
	}
}

// limitDisk makes every file end at some bytes, as a full disk would.
func limitDisk(bytes string) {
	n, err := strconv.ParseUint(bytes, 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: n, Max: n}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
}
