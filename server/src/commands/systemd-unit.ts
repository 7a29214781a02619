/** Prints a systemd unit that runs the service as its own user, which can read and write only the service's data. */
import { realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../platform/config/settings.ts'

export function showSystemdUnit(): Promise<number> {
  const [node, script] = [process.execPath, process.argv[1] ?? ''].map((path) => realpathSync(path))
  const command = [node ?? '', script ?? '']
  command.forEach(assertOpenToAll)
  process.stdout.write(systemdUnit(command))
  return Promise.resolve(0)
}

export function systemdUnit(command: readonly string[]): string {
  return `# Install: sallyport-server systemd-unit | sudo tee /etc/systemd/system/sallyport.service
#          sudo systemctl enable --now sallyport
[Unit]
Description=Sallyport
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${command.map(quoted).join(' ')} serve
# Reads the TLS certificate again.
ExecReload=/bin/kill -HUP $MAINPID
# Settings, one NAME=value a line. Only root has to be able to read it.
EnvironmentFile=-/etc/sallyport.env
Environment=SALLYPORT_DATA_DIR=/var/lib/sallyport
Restart=on-failure
# The service stops its workers itself, and lets calls end.
KillMode=mixed
TimeoutStopSec=60

# A user that exists while the service runs. Its data is below /var/lib/private, where only root gets in.
DynamicUser=yes
User=sallyport
StateDirectory=sallyport
StateDirectoryMode=0700
UMask=0077

NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`
}

/** systemd.service(5), "Command lines": % and $ are special even within quotes. */
function quoted(word: string): string {
  return `"${word.replace(/["\\]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
}

/** The unit runs as a new system user that can't see home directories, so the file has to be readable by everyone. */
function assertOpenToAll(file: string): void {
  const isOpen = (path: string, mode: number) => (statSync(path).mode & mode) === mode
  const folders: string[] = []
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) folders.push(folder)
  const isHidden = /^\/(?:home|root|run\/user)\//.test(file)
  if (!isHidden && isOpen(file, 0o004) && folders.every((folder) => isOpen(folder, 0o001))) return
  throw new ConfigError([
    `systemd-unit: a dedicated user could not read ${file}. Install it elsewhere, for example with ` +
      'sudo npm install --global --prefix /opt/sallyport ./sallyport-server-*.tgz, and run it from there.',
  ])
}
