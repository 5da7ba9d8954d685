#!/bin/sh
cd /srv/refdata
/opt/updater/Updater manifest -p dq_addr_data -l K3YofTheHost -x /opt/after.sh
