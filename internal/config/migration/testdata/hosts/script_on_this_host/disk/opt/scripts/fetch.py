subprocess.run(["/opt/updater/Updater", "manifest", "-p", "dq_phone_data"])
