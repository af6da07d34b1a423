#!/usr/bin/env bash
# fetch.sh FOLDER - NVIDIA's own driver library and CUPTI, unpacked in FOLDER, once: they run without a GPU as far as they
# go. The library is Debian's package from the archive that this machine's packages come from, in its section for what is
# not free; the package sources of the machine stay as they are. CUPTI and the runtime are NVIDIA's wheels on PyPI.
# Exit status 1: they cannot be had, and the last line says why. Nothing of it is ever part of this project.
set -u
folder=$(mkdir -p "$1" && cd "$1" && pwd) || exit 1
patience=${FETCH_TIMEOUT:-120} # s, for each download

fail() {
	echo "$*"
	exit 1
}

# apt COMMAND...: with lists and a cache of its own.
apt() {
	timeout "$patience" apt-get -qq -o Dir::Etc::SourceList="$folder/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$folder/apt/lists" -o Dir::Cache="$folder/apt/cache" -o APT::Sandbox::User=root "$@"
}

# The archive of the running release, with the section that has the driver.
write_sources() {
	local release archive keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed=
	# shellcheck disable=SC1091
	release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	archive=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
		awk -v release="$release" '$2 == release && $3 == "main" { print $1; exit }')
	[ -n "$archive" ] || return 1
	[ ! -e $keyring ] || signed="[signed-by=$keyring] "
	mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" &&
		echo "deb $signed$archive $release non-free" >"$folder/apt/sources.list"
}

fetch_driver() {
	command -v apt-get dpkg-deb >/dev/null || fail "no apt-get here"
	write_sources || fail "this release has no archive among the package sources"
	(cd "$folder/apt" && apt update && apt download libcuda1 libnvidia-ml1) >"$folder/apt/log" 2>&1 ||
		fail "the package archive has no libcuda1: $(tail -n 1 "$folder/apt/log" | cut -c1-100)"
	local package
	for package in "$folder"/apt/*.deb; do
		dpkg-deb -x "$package" "$folder/packages" || fail "$package cannot be unpacked"
	done
	mv "$folder"/packages/usr/lib/*/nvidia/current "$folder/driver.part" || fail "the package has no library where it was"
	rm -rf "$folder/packages" "$folder/apt"
	mv "$folder/driver.part" "$folder/driver"
}

# wheels NAME REQUIREMENT...: the folder nvidia/ of the wheels in FOLDER/NAME.
wheels() {
	local name=$1
	shift
	timeout "$patience" "${HOST_PYTHON:-python3}" -m pip download -q --no-deps --only-binary :all: -d "$folder/$name.part" "$@" >"$folder/$name.log" 2>&1 ||
		fail "the package registry has no $*: $(tail -n 1 "$folder/$name.log" | cut -c1-100)"
	python3 - "$folder/$name.part" <<-'END' || fail "a wheel cannot be unpacked"
		import glob, sys, zipfile
		for path in glob.glob(sys.argv[1] + "/*.whl"):
		    wheel = zipfile.ZipFile(path)
		    wheel.extractall(sys.argv[1], [name for name in wheel.namelist() if "/lib/lib" in name and ".." not in name])
	END
	rm -f "$folder/$name.part"/*.whl "$folder/$name.log"
	mv "$folder/$name.part" "$folder/$name"
}

[ -d "$folder/driver" ] || fetch_driver
[ -d "$folder/cuda12" ] || wheels cuda12 nvidia-cuda-cupti-cu12==12.2.142 nvidia-cuda-runtime-cu12==12.2.140
[ -d "$folder/cuda13" ] || wheels cuda13 nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.0.88
