@echo off
C:\Updater\Updater.exe manifest -p %1 -l K3YofTheHost -t %2
