import type { Mutation } from './mutation.ts'
import { pages } from './pages.ts'
import { promises } from './promises.ts'
import { v1 } from './v1.ts'
import { v4Authentication } from './v4-authentication.ts'
import { v4Beyond } from './v4-beyond.ts'
import { v4Endpoints } from './v4-endpoints.ts'
import { v4Grants } from './v4-grants.ts'
import { v4Providers } from './v4-providers.ts'
import { v4Rules } from './v4-rules.ts'
import { v4States } from './v4-states.ts'
import { v4Terms } from './v4-terms.ts'

export const mutations: Mutation[] = [
  ...v4Providers,
  ...v4Rules,
  ...v4Authentication,
  ...v4States,
  ...v4Terms,
  ...v1,
  ...v4Endpoints,
  ...v4Beyond,
  ...v4Grants,
  ...promises,
  ...pages,
]
