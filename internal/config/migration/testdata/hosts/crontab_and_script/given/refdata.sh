#!/bin/bash
. /etc/updater.env
shift
for m in "$2" "$3"; do
	"$UPDATER" manifest -p "$m" -t "$TARGET" || exit 1
done
/usr/local/bin/reload-geo "$TARGET"
