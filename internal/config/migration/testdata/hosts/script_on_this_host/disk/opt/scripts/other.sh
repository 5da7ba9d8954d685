tar -czf /backup.tgz /home
