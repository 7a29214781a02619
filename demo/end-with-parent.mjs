// Loaded into the service before it starts: the service exits with the demo, however that ends.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
