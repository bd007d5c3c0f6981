#!/usr/bin/env bash
# Builds the servers of the test clusters (etcd, kube-apiserver,
# kube-controller-manager) from the pinned modules of this folder into bin/, which
# git ignores. What is there already is built again only when the pins, the
# toolchain or the flags have changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
stamped=k8s.io/component-base/version
flags="-s -w -X $stamped.gitVersion=$version -X $stamped.gitMajor=1 -X $stamped.gitMinor=${minor%%.*}"
stamp=$({ cat go.mod go.sum; go version; echo "$flags"; } | sha256sum | cut -d' ' -f1)

packages=(go.etcd.io/etcd/server/v3 k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kube-apiserver)
names=(etcd kube-controller-manager kube-apiserver)

# The lock makes a second builder wait and then find everything done.
mkdir -p bin
exec 9>bin/.lock
flock 9

for i in "${!names[@]}"; do
	name=${names[i]}
	if [ -x "bin/$name" ] && [ "$(cat "bin/.$name.stamp" 2>/dev/null)" = "$stamp" ]; then
		continue
	fi
	echo "test/kube: building $name, $((i + 1)) of ${#names[@]} (all of them: about 20 minutes of CPU from a cold cache, one from a warm one)"
	start=$SECONDS
	go build -trimpath -ldflags "$flags" -o "bin/.$name.new" "${packages[i]}"
	mv "bin/.$name.new" "bin/$name"
	echo "$stamp" >"bin/.$name.stamp"
	echo "test/kube: $name is built after $((SECONDS - start)) s"
done
