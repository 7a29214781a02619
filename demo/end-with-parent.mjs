// Loaded into the service before it starts: however the demo ends, the service does not outlive it.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
