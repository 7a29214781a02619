import { Type, type Static } from 'typebox'
import { Dictionary, DisplayName, Nullable, Prose, Strict, Text } from './schema.ts'

export const authMethodKinds = [
  'oauth2',
  'api_key',
  'aws_sigv4',
  'basic',
  'client_credentials',
  'github_app',
  'google_service_account',
] as const
export type AuthMethodKind = (typeof authMethodKinds)[number]

/** Also the name of a method, so part of request bodies. */
const Name = Type.String({ pattern: '^[a-z][a-z0-9_]{0,39}$', examples: ['api_key'] })
const Label = DisplayName({ minLength: 1, maxLength: 100 })
const Host = Type.String({ pattern: '^[a-z0-9.*:\\[\\]-]{1,255}$', examples: ['api.github.com'] })

const CredentialMember = Strict({
  name: Name,
  label: Type.Optional(Label),
  secret: Type.Optional(Type.Boolean({ description: 'Default: true, except for a user name and what names the host' })),
  pattern: Type.Optional(
    Text({ maxLength: 100, description: 'One set of characters and how many of them, such as [a-z0-9-]{1,63}' }),
  ),
  host: Type.Optional(
    Text({
      maxLength: 255,
      description: 'The only host that the credential is sent to, such as {subdomain}.zendesk.com',
    }),
  ),
})

const CredentialPlace = Strict({
  in: Type.Enum(['header', 'query', 'path']),
  name: Text({
    minLength: 1,
    maxLength: 200,
    description: 'Of the header or parameter; in a path everything up to and with the segment: /{credential}/',
  }),
  template: Text({
    minLength: 1,
    maxLength: 500,
    description: 'Text with members in braces, such as Bearer {api_key} or Basic {base64(x-access-token:{api_key})}',
  }),
  hosts: Type.Optional(Type.Array(Host, { minItems: 1, maxItems: 20, uniqueItems: true })),
  paths: Type.Optional(
    Type.Array(Text({ minLength: 1, maxLength: 500 }), {
      minItems: 1,
      maxItems: 50,
      uniqueItems: true,
      description: 'Whole paths, in which * is any one segment, such as /*/*/info/refs',
    }),
  ),
})

const CheckHeaders = Dictionary(Text({ minLength: 1, maxLength: 200 }), {
  maxProperties: 5,
  description: 'That the API insists on, such as a version',
})

const CredentialCheck = Strict({
  url: Text({ minLength: 1, maxLength: 2000, description: 'Answers a GET with 2xx if the credential is accepted' }),
  headers: Type.Optional(CheckHeaders),
  account: Type.Optional(
    Strict({
      id: Text({ minLength: 1, maxLength: 200, description: 'Where the JSON answer names the account: user.id' }),
      labels: Type.Optional(
        Type.Array(Text({ minLength: 1, maxLength: 200 }), {
          maxItems: 5,
          description: 'The first one found is shown',
        }),
      ),
    }),
  ),
})

const AwsName = Type.String({ pattern: '^[a-z0-9-]{1,64}$' })

const SigningEntry = Strict({
  host: Type.String({
    pattern: '^[a-z0-9.*:{}-]{1,255}$',
    description: 'One of api_hosts. {region} can stand for one of its labels, as in *.s3.{region}.amazonaws.com',
    examples: ['s3.us-east-1.amazonaws.com'],
  }),
  region: Type.Optional(AwsName),
  service: AwsName,
})

/** A way in which the provider's API can be authenticated, as an administrator sets it. */
export const AuthMethod = Strict({
  kind: Type.Enum(authMethodKinds),
  name: Type.Optional(Name),
  label: Type.Optional(Label),
  help: Type.Optional(Prose({ maxLength: 500, description: 'Where to get the credential' })),
  members: Type.Optional(Type.Array(CredentialMember, { minItems: 1, maxItems: 10 })),
  inject: Type.Optional(Type.Array(CredentialPlace, { minItems: 1, maxItems: 10 })),
  check: Type.Optional(CredentialCheck),
  signs: Type.Optional(
    Type.Array(SigningEntry, {
      minItems: 1,
      maxItems: 100,
      description: 'The regions and services that AWS requests are signed for, by host. No other host is called',
    }),
  ),
  api_url: Type.Optional(
    Text({
      minLength: 1,
      maxLength: 500,
      description:
        'Of github_app: where tokens are issued, https://api.github.com unless it is a GitHub Enterprise Server: ' +
        'https://HOST/api/v3. Its host is one of api_hosts',
    }),
  ),
  token_url: Type.Optional(
    Text({
      minLength: 1,
      maxLength: 500,
      description:
        'Of client_credentials, where each tenant has a token endpoint: https://{shop}.myshopify.com/admin/oauth/access_token. ' +
        'The client authenticates by client_secret_post. Otherwise it is the token_url of the provider',
    }),
  ),
})
export type AuthMethod = Static<typeof AuthMethod>
export const AuthMethods = Type.Array(AuthMethod, { minItems: 1, maxItems: 10 })

/** How a member is entered: on one line, or pasted or uploaded as a file with line breaks. */
export const memberFormats = ['text', 'pem', 'json'] as const

const FormMember = Type.Object({
  name: Type.String(),
  label: Nullable(Type.String()),
  secret: Type.Boolean(),
  optional: Type.Boolean(),
  format: Type.Enum(memberFormats, { description: 'pem and json are files: they may have line breaks' }),
  pattern: Nullable(Type.String()),
  host: Nullable(Type.String()),
})

/** What a person has to enter. */
export const AuthMethodForm = Type.Object({
  kind: Type.Enum(authMethodKinds),
  name: Type.String({ description: 'The value for "auth_method"' }),
  label: Nullable(Type.String()),
  help: Nullable(Type.String()),
  members: Type.Array(FormMember, { description: 'Of "credential". Empty for oauth2' }),
  checks: Type.Enum(['account', 'validity', 'nothing'], {
    description:
      'What the provider is asked about a credential: whose it is, only whether it is valid, or nothing. ' +
      'Unless it is asked whose it is, replacing it ends the grants of the connection',
  }),
})
export type AuthMethodForm = Static<typeof AuthMethodForm>

/** The same with where its credential goes. */
export const AuthMethodDetails = Type.Object({
  ...AuthMethodForm.properties,
  inject: Type.Array(
    Type.Object({
      in: Type.Enum(['header', 'query', 'path']),
      name: Type.String(),
      template: Type.String(),
      hosts: Nullable(Type.Array(Type.String())),
      paths: Nullable(Type.Array(Type.String())),
    }),
  ),
  check: Nullable(
    Type.Object({
      url: Type.String(),
      headers: Type.Optional(CheckHeaders),
      account: Nullable(Type.Object({ id: Type.String(), labels: Type.Array(Type.String()) })),
    }),
  ),
  signs: Type.Optional(
    Type.Array(Type.Object({ host: Type.String(), region: Nullable(Type.String()), service: Type.String() }), {
      description: 'Of aws_sigv4. A region of null is the one in the host',
    }),
  ),
  api_url: Type.Optional(Type.String({ description: 'Of github_app' })),
  token_url: Type.Optional(Type.String({ description: 'Of client_credentials with an endpoint for each tenant' })),
})
export type AuthMethodDetails = Static<typeof AuthMethodDetails>
