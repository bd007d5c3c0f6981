#!/usr/bin/env bash
# Builds the real servers of two meshes from the pinned modules of this folder into
# bin/, which git ignores: spire-server and spire-agent of SPIRE, pilot-discovery of
# Istio. What is there already is built again only when the pins, the toolchain or
# the flags have changed. SPIRE's store is a C library, so it needs a C compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export GOFLAGS=-mod=readonly GOWORK=off

# Folder with the pins, whether C is needed, the program's name, its module, package
# and the variable that says which version it is.
programs="
spire 1 spire-server github.com/spiffe/spire cmd/spire-server pkg/common/version.gittag
spire 1 spire-agent github.com/spiffe/spire cmd/spire-agent pkg/common/version.gittag
istio 0 pilot-discovery istio.io/istio pilot/cmd/pilot-discovery pkg/version.buildVersion
"

# The lock makes a second builder wait and then find everything done.
mkdir -p bin
exec 9>bin/.lock
flock 9

while read -r pins cgo name module package stamped; do
	[ -n "$pins" ] || continue
	version=$(cd "$pins" && go list -m -f '{{.Version}}' "$module")
	flags="-s -w -X $module/$stamped=${version#v}"
	stamp=$({ cat "$pins/go.mod" "$pins/go.sum"; go version; echo "$flags $cgo"; } | sha256sum | cut -d' ' -f1)
	if [ -x "bin/$name" ] && [ "$(cat "bin/.$name.stamp" 2>/dev/null)" = "$stamp" ]; then
		continue
	fi
	echo "test/realmesh: building $name (all three: about 30 minutes of CPU from a cold cache, two from a warm one)"
	start=$SECONDS
	(cd "$pins" && CGO_ENABLED=$cgo nice -n 10 go build -trimpath -ldflags "$flags" -o "../bin/.$name.new" "$module/$package")
	mv "bin/.$name.new" "bin/$name"
	echo "$stamp" >"bin/.$name.stamp"
	echo "test/realmesh: $name is built after $((SECONDS - start)) s"
done <<<"$programs"
