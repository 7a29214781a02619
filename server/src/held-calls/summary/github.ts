/** https://docs.github.com/en/rest: paths name what is changed, and members of the body how. */
import { membersOf, textIn, textsIn } from './call-content.ts'
import type { Members } from './call-content.ts'
import { readBase64 } from './mail-headers.ts'
import { samePath, scopeOf, textDetail } from './routes.ts'
import type { Route, Said } from './routes.ts'
import { quoted, quotedName } from './visible-text.ts'

const repository = (owner = '', name = '') => quotedName(`${owner}/${name}`)

/** A sentence of the path alone; all members are details. */
function plain(method: string, path: string, sentence: (...names: string[]) => string, repeats?: string): Route {
  return { method, path, say: (names) => ({ sentence: sentence(...names), repeats }) }
}

/** A sentence that ends with a text of the body. */
function withText(
  method: string,
  path: string,
  member: string,
  sentence: (...names: string[]) => string,
  repeats?: string,
): Route {
  return {
    method,
    path,
    say: (names, members) => {
      const text = textIn(members, member)
      if (text === undefined) return undefined
      const details = textDetail(member === 'body' ? 'Text' : 'Title', text)
      return { sentence: `${sentence(...names)}: ${quoted(text)}`, details, covers: [member], repeats }
    },
  }
}

function changeIssue(what: string) {
  return ([owner, name, issue]: string[], members: Members): Said => {
    const state = members.get('state')
    const verb = state === 'closed' ? 'Close' : state === 'open' ? 'Reopen' : 'Change'
    const others = [...members.keys()].some((member) => member !== 'state' && member !== 'state_reason')
    const also = verb !== 'Change' && others ? ' and change it' : ''
    return { sentence: `${verb} ${what} #${issue} in ${repository(owner, name)}${also}`, repeats: samePath }
  }
}

function openPullRequest([owner, name]: string[], members: Members): Said | undefined {
  const [title, head, base] = [textIn(members, 'title'), textIn(members, 'head'), textIn(members, 'base')]
  if (head === undefined || base === undefined) return undefined
  const branches = `from ${quotedName(head)} into ${quotedName(base)}`
  const sentence = `Open a pull request in ${repository(owner, name)} ${branches}`
  return {
    sentence: title === undefined ? sentence : `${sentence}: ${quoted(title)}`,
    details: [...textDetail('Title', title), ...textDetail('Text', textIn(members, 'body'))],
    covers: ['title', 'body', 'head', 'base'],
  }
}

const reviews = new Map([
  ['APPROVE', 'Approve'],
  ['REQUEST_CHANGES', 'Request changes to'],
  ['COMMENT', 'Comment on'],
])

function review([owner, name, pull]: string[], members: Members): Said | undefined {
  const event = textIn(members, 'event')
  const verb = !members.has('event') ? 'Begin a review of' : reviews.get(event ?? '')
  if (verb === undefined) return undefined
  const details = textDetail('Text', textIn(members, 'body'))
  return {
    sentence: `${verb} pull request #${pull} in ${repository(owner, name)}`,
    details,
    covers: details.length > 0 ? ['body', 'event'] : ['event'],
  }
}

/** `refs/heads/main` is a branch. */
function refNamed(ref: string): string {
  const [, kind, name = ''] = /^(?:refs\/)?(heads|tags)\/([^]+)$/.exec(ref) ?? []
  if (kind === undefined) return `the ref ${quotedName(ref)}`
  return `the ${kind === 'heads' ? 'branch' : 'tag'} ${quotedName(name)}`
}

function createRef([owner, name]: string[], members: Members): Said | undefined {
  const ref = textIn(members, 'ref')
  if (ref === undefined) return undefined
  return { sentence: `Create ${refNamed(ref)} in ${repository(owner, name)}`, covers: ['ref'] }
}

function moveRef([owner, name, ref = '']: string[], members: Members): Said {
  const force = members.get('force') === undefined || members.get('force') === false ? '' : ', even if commits are lost'
  return { sentence: `Move ${refNamed(ref)} in ${repository(owner, name)} to another commit${force}` }
}

function onBranch(members: Members): string {
  const branch = textIn(members, 'branch')
  return branch === undefined ? 'the default branch' : `the branch ${quotedName(branch)}`
}

function changeFile([owner, name, path = '']: string[], members: Members): Said | undefined {
  const content = members.get('content')
  const bytes = typeof content === 'string' ? readBase64(content.replaceAll('\n', '')) : undefined
  const [message, sha] = [textIn(members, 'message'), members.get('sha')]
  const isOdd = members.has('branch') && textIn(members, 'branch') === undefined
  if (!bytes || message === undefined || isOdd) return undefined
  const verb = sha === undefined ? 'Create' : 'Change'
  const text = bytes.includes(0) ? undefined : bytes.toString()
  return {
    sentence: `${verb} the file ${quotedName(path)} on ${onBranch(members)} of ${repository(owner, name)}: ${quoted(message)}`,
    details: [
      ...textDetail('Message', message),
      ...(text?.isWellFormed() === true && !text.includes('\ufffd')
        ? textDetail('Content', text)
        : [{ name: 'Content', value: `${bytes.length} bytes` }]),
    ],
    covers: ['message', 'content', 'branch'],
    repeats: members.has('branch')
      ? scopeOf('the same path and the branch', [textIn(members, 'branch') ?? ''])
      : samePath,
  }
}

function deleteFile([owner, name, path = '']: string[], members: Members): Said | undefined {
  if (members.has('branch') && textIn(members, 'branch') === undefined) return undefined
  return { sentence: `Delete the file ${quotedName(path)} on ${onBranch(members)} of ${repository(owner, name)}` }
}

function dispatch([owner, name, workflow = '']: string[], members: Members): Said | undefined {
  const ref = textIn(members, 'ref')
  if (ref === undefined) return undefined
  const where = `on ${quotedName(ref)} of ${repository(owner, name)}`
  return { sentence: `Run the workflow ${quotedName(workflow)} ${where}`, covers: ['ref'] }
}

function createRelease([owner, name]: string[], members: Members): Said | undefined {
  const tag = textIn(members, 'tag_name')
  if (tag === undefined) return undefined
  const draft = members.get('draft') === true ? 'draft ' : ''
  return {
    sentence: `Create the ${draft}release ${quotedName(tag)} of ${repository(owner, name)}`,
    details: textDetail('Text', textIn(members, 'body')),
    covers: ['tag_name', ...(textIn(members, 'body') === undefined ? [] : ['body'])],
  }
}

function createRepository(owner: string | undefined, members: Members): Said | undefined {
  const [name, isPrivate, visibility] = [textIn(members, 'name'), members.get('private'), members.get('visibility')]
  const isClear = isPrivate === undefined || (typeof isPrivate === 'boolean' && visibility === undefined)
  if (name === undefined || !isClear) return undefined
  const kind = visibility === undefined ? (isPrivate === true ? 'private ' : 'public ') : ''
  const where = owner === undefined ? '' : ` of ${quotedName(owner)}`
  return { sentence: `Create the ${kind}repository ${quotedName(name)}${where}`, covers: ['name', 'private'] }
}

function createGist(members: Members): Said | undefined {
  const files = membersOf(members.get('files'))
  const isPublic = members.get('public') ?? false
  if (!files || files.size === 0 || typeof isPublic !== 'boolean') return undefined
  const [first = ''] = files.keys()
  const others = files.size > 1 ? ` and ${files.size - 1} more` : ''
  return {
    sentence: `Create a ${isPublic ? 'public' : 'secret'} gist with the file ${quotedName(first)}${others}`,
    details: [...files].slice(0, 20).flatMap(([name, file]) => {
      return textDetail(`File ${quotedName(name)}`, textIn(membersOf(file) ?? new Map(), 'content'))
    }),
    covers: ['public', 'files'],
  }
}

function requestReviews([owner, name, pull]: string[], members: Members): Said | undefined {
  const [people, teams] = [textsIn(members, 'reviewers'), textsIn(members, 'team_reviewers')]
  if (!people || !teams) return undefined
  return { sentence: `Request reviews of pull request #${pull} in ${repository(owner, name)}`, repeats: samePath }
}

const repo = '/repos/*/*'
const oneIssue = `${repo}/issues/#`
const onePull = `${repo}/pulls/#`

export const githubRoutes: readonly Route[] = [
  withText('POST', `${repo}/issues`, 'title', (o, n) => `Create an issue in ${repository(o, n)}`, samePath),
  { method: 'PATCH', path: oneIssue, say: changeIssue('issue or pull request') },
  withText('POST', `${oneIssue}/comments`, 'body', (o, n, i) => `Comment on #${i} in ${repository(o, n)}`, samePath),
  withText('PATCH', `${repo}/issues/comments/#`, 'body', (o, n) => `Change a comment in ${repository(o, n)}`, samePath),
  plain('DELETE', `${repo}/issues/comments/#`, (o, n, id) => `Delete the comment ${id} in ${repository(o, n)}`),
  plain('POST', `${oneIssue}/labels`, (o, n, i) => `Add labels to #${i} in ${repository(o, n)}`, samePath),
  plain('PUT', `${oneIssue}/labels`, (o, n, i) => `Replace all labels of #${i} in ${repository(o, n)}`),
  plain('DELETE', `${oneIssue}/labels`, (o, n, i) => `Remove all labels of #${i} in ${repository(o, n)}`),
  plain('POST', `${oneIssue}/assignees`, (o, n, i) => `Assign #${i} in ${repository(o, n)}`, samePath),
  plain('DELETE', `${oneIssue}/assignees`, (o, n, i) => `Remove assignees of #${i} in ${repository(o, n)}`),
  plain('PUT', `${oneIssue}/lock`, (o, n, i) => `Lock the conversation of #${i} in ${repository(o, n)}`),
  plain('DELETE', `${oneIssue}/lock`, (o, n, i) => `Unlock the conversation of #${i} in ${repository(o, n)}`),
  { method: 'POST', path: `${repo}/pulls`, say: openPullRequest },
  { method: 'PATCH', path: onePull, say: changeIssue('pull request') },
  plain('PUT', `${onePull}/merge`, (o, n, i) => `Merge pull request #${i} in ${repository(o, n)}`),
  plain(
    'PUT',
    `${onePull}/update-branch`,
    (o, n, i) => `Update the branch of pull request #${i} in ${repository(o, n)}`,
  ),
  { method: 'POST', path: `${onePull}/reviews`, say: review },
  { method: 'POST', path: `${onePull}/requested_reviewers`, say: requestReviews },
  withText(
    'POST',
    `${onePull}/comments`,
    'body',
    (o, n, i) => `Comment on the code of pull request #${i} in ${repository(o, n)}`,
    samePath,
  ),
  plain('DELETE', repo, (o, n) => `Delete the repository ${repository(o, n)} with everything in it`),
  plain('PATCH', repo, (o, n) => `Change settings of the repository ${repository(o, n)}`),
  { method: 'POST', path: '/user/repos', say: (_names, members) => createRepository(undefined, members) },
  { method: 'POST', path: '/orgs/*/repos', say: ([owner], members) => createRepository(owner, members) },
  plain('POST', `${repo}/forks`, (o, n) => `Fork the repository ${repository(o, n)}`),
  plain(
    'PUT',
    `${repo}/collaborators/*`,
    (o, n, user = '') => `Add ${quotedName(user)} as a collaborator to ${repository(o, n)}`,
  ),
  plain(
    'DELETE',
    `${repo}/collaborators/*`,
    (o, n, user = '') => `Remove the collaborator ${quotedName(user)} from ${repository(o, n)}`,
  ),
  { method: 'POST', path: `${repo}/git/refs`, say: createRef },
  { method: 'PATCH', path: `${repo}/git/refs/**`, say: moveRef },
  plain('DELETE', `${repo}/git/refs/**`, (o, n, ref = '') => `Delete ${refNamed(ref)} in ${repository(o, n)}`),
  plain(
    'DELETE',
    `${repo}/branches/*/protection`,
    (o, n, branch = '') => `Remove the protection of the branch ${quotedName(branch)} in ${repository(o, n)}`,
  ),
  plain(
    'PUT',
    `${repo}/branches/*/protection`,
    (o, n, branch = '') => `Change the protection of the branch ${quotedName(branch)} in ${repository(o, n)}`,
  ),
  plain('POST', `${repo}/merges`, (o, n) => `Merge one branch of ${repository(o, n)} into another`),
  { method: 'PUT', path: `${repo}/contents/**`, say: changeFile },
  { method: 'DELETE', path: `${repo}/contents/**`, say: deleteFile },
  { method: 'POST', path: `${repo}/actions/workflows/*/dispatches`, say: dispatch },
  plain(
    'POST',
    `${repo}/actions/runs/#/rerun`,
    (o, n, run) => `Run the workflow run ${run} in ${repository(o, n)} again`,
  ),
  plain(
    'POST',
    `${repo}/actions/runs/#/cancel`,
    (o, n, run) => `Cancel the workflow run ${run} in ${repository(o, n)}`,
  ),
  plain('DELETE', `${repo}/actions/runs/#`, (o, n, run) => `Delete the workflow run ${run} in ${repository(o, n)}`),
  { method: 'POST', path: `${repo}/releases`, say: createRelease },
  plain('PATCH', `${repo}/releases/#`, (o, n, id) => `Change the release ${id} of ${repository(o, n)}`),
  plain('DELETE', `${repo}/releases/#`, (o, n, id) => `Delete the release ${id} of ${repository(o, n)}`),
  { method: 'POST', path: '/gists', say: (_names, members) => createGist(members) },
  plain('PATCH', '/gists/*', (id = '') => `Change the gist ${quotedName(id)}`),
  plain('DELETE', '/gists/*', (id = '') => `Delete the gist ${quotedName(id)}`),
  plain('PUT', '/user/starred/*/*', (o, n) => `Star the repository ${repository(o, n)}`),
  plain('DELETE', '/user/starred/*/*', (o, n) => `Remove the star from the repository ${repository(o, n)}`),
]
