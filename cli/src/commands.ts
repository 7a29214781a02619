/** All commands, in the order of the help. */
import type { Command } from './command.ts'
import { agentChanges, agentsList } from './commands/agents.ts'
import { audit } from './commands/audit.ts'
import { call } from './commands/call.ts'
import { callsCancel, callsList, callsShow, callsWait } from './commands/calls.ts'
import { completion } from './commands/completion.ts'
import { connectionsAdd, connectionsList, connectionsReplace } from './commands/connections.ts'
import { callsApprove, callsDeny, callsRepeats } from './commands/decide-calls.ts'
import { grantsChange } from './commands/change-grant.ts'
import { grantsList, grantsRevoke } from './commands/grants.ts'
import { login, logout } from './commands/login.ts'
import { loginLink } from './commands/login-link.ts'
import { mcp } from './commands/mcp.ts'
import { pause, resume } from './commands/pause.ts'
import { profileList, profileRemove, profileSet, profileUse, whoami } from './commands/profile.ts'
import {
  providerChanges,
  providersAdd,
  providersCredentials,
  providersEdit,
  providersEndpoints,
  providersList,
  providersPresets,
  providersPropose,
} from './commands/providers.ts'
import { receiptShow, receiptVerify } from './commands/receipt.ts'
import { register } from './commands/register.ts'
import { request, wait } from './commands/request.ts'
import { run } from './commands/run.ts'
import { sandbox } from './commands/sandbox.ts'

export const commands: readonly Command[] = [
  register,
  sandbox,
  providersList,
  providersPropose,
  request,
  wait,
  call,
  run,
  callsList,
  callsShow,
  callsWait,
  callsCancel,
  grantsList,
  grantsRevoke,
  receiptShow,
  receiptVerify,
  mcp,
  login,
  logout,
  connectionsList,
  connectionsAdd,
  connectionsReplace,
  grantsChange,
  callsApprove,
  callsDeny,
  callsRepeats,
  pause,
  resume,
  loginLink,
  providersPresets,
  providersAdd,
  providersEdit,
  providersEndpoints,
  providersCredentials,
  ...providerChanges,
  agentsList,
  ...agentChanges,
  audit,
  profileList,
  profileSet,
  profileUse,
  profileRemove,
  whoami,
  completion,
]
