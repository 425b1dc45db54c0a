#!/usr/bin/env bash
# Installs what the build and the tests need on Debian 12: packages by apt (as
# root or by sudo), and ptxas from its Python wheel unless a toolkit has one.
# Arguments are more packages.
# Does nothing where everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  cmake ninja-build ccache clang-22 lld-22 libstdc++-12-dev
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools liblld-22-dev
  zlib1g-dev libzstd-dev
  libflatbuffers-dev flatbuffers-compiler libcli11-dev nlohmann-json3-dev
  libxxhash-dev libtbb-dev libgtest-dev libgmock-dev python3
  "$@"
)
# The wheel of NVIDIA's assembler; any version from 12.4 on will do, this one is
# what the checked-in register counts were taken with.
ptxas_wheel=nvidia-cuda-nvcc==13.0.88

missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
if ((${#missing[@]})); then
  sudo=(); [ "$(id -u)" = 0 ] || sudo=(sudo)
  echo "setup: installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  if ! apt-cache show libmlir-22-dev >/dev/null 2>&1; then
    echo "setup: error: libmlir-22-dev is not in this machine's package sources;" \
         "Debian 12 carries it in its security suite (bookworm-security)" >&2
    exit 1
  fi
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
fi

if ! scripts/find-ptxas.sh >/dev/null; then
  echo "setup: fetching ptxas ($ptxas_wheel)"
  if ! python3 -m pip --version >/dev/null 2>&1; then
    sudo=(); [ "$(id -u)" = 0 ] || sudo=(sudo)
    DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends \
      python3-pip ca-certificates >/dev/null
  fi
  mkdir -p .cache/ptxas
  if python3 -m pip download -q --no-deps -d .cache/ptxas "$ptxas_wheel"; then
    python3 - .cache/ptxas <<'PY'
import glob, os, sys, zipfile
folder = sys.argv[1]
wheel = glob.glob(folder + "/*.whl")[0]
with zipfile.ZipFile(wheel) as z:
    name = next(n for n in z.namelist() if n.endswith("/bin/ptxas"))
    with open(folder + "/ptxas", "wb") as out:
        out.write(z.read(name))
os.chmod(folder + "/ptxas", 0o755)
os.remove(wheel)
PY
  else
    echo "setup: warning: no ptxas; cubins and their tests are skipped" >&2
  fi
fi
