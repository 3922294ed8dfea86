// The page at /_cardea/ and its files. The page carries the token that requests with its session must send.
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { METHODS } from 'node:http'
import type { ConsoleSessions } from '../../auth/session/console-session.ts'
import { Refusal } from '../../base/errors.ts'
import { CONSOLE_PATH, OWN_PREFIX } from '../../base/own-paths.ts'
import { READ_METHODS } from '../../http/dispatch.ts'
import type { Handler, HeaderPair, Methods, Reply, RequestContext, RequestHead } from '../../http/request-context.ts'
import { acceptsHtml } from '../sign-in-redirect.ts'
import {
  isPrefetch,
  isPreload,
  isTopLevelNavigation,
  isTrustworthy,
  PRELOAD_HEADER,
  PURPOSE_HEADERS,
} from './browser.ts'
import { ACCESS, type AdminRoute } from './rights.ts'

export interface PageOptions {
  readonly files: ConsoleFiles
  readonly sessions: ConsoleSessions
  /** The name of this installation; empty: it has none. */
  instanceName(): string
  /** Whether this listener serves nothing but Cardea's own paths: no other page shares its origin. */
  readonly isOwnOrigin: boolean
}

export const pageRoutes = (options: PageOptions): readonly AdminRoute[] =>
  [
    {
      path: OWN_PREFIX,
      allow: READ_METHODS,
      methods: { GET: (context: RequestContext) => showPage(context, options) },
    },
    { path: `${OWN_PREFIX}/{page}`, methods: forEveryMethod(leadToPage) },
    { path: `${OWN_PREFIX}/{page}/{name}`, methods: forEveryMethod(leadToPage) },
    { path: `${OWN_PREFIX}/assets/{name}`, methods: forEveryMethod(showAsset(options.files.assets)) },
  ].map((route) => ({ ...route, right: ACCESS.open }))

/** The handler decides which methods exist: an unknown path is 404 for all of them, not 405. */
const forEveryMethod = (handler: Handler): Methods => Object.fromEntries(METHODS.map((method) => [method, handler]))

const isRead = ({ method }: RequestHead): boolean => READ_METHODS.includes(method)

/** `/_cardea/users` in the address bar leads to `/_cardea/#/users`. Programs get 404. */
const leadToPage: Handler = (context, { page = '', name }) => {
  if (!isRead(context) || !acceptsHtml(context.header('accept'))) throw new Refusal('not_found')
  const path = [page, name].filter((part) => part !== undefined).map(encodeURIComponent)
  return { status: 302, headers: [['Location', `${CONSOLE_PATH}#/${path.join('/')}`]] }
}

const showAsset =
  (assets: ConsoleFiles['assets']): Handler =>
  (context, { name = '' }) => {
    const asset = assets.get(name)
    if (!asset) throw new Refusal('not_found')
    if (!isRead(context)) throw new Refusal('method_not_allowed', { value: READ_METHODS.join(',') })
    const coding = chooseCoding(context.header('accept-encoding') ?? '')
    return {
      status: 200,
      headers: [
        ['Content-Type', asset.type],
        // the name changes with the content
        ['Cache-Control', 'public, max-age=31536000, immutable'],
        ['Vary', 'Accept-Encoding'],
        ...(coding === 'identity' ? [] : [['Content-Encoding', coding] as const]),
      ],
      body: asset.bodies[coding],
    }
  }

const CODINGS: readonly (keyof Asset['bodies'])[] = ['br', 'gzip']

/** The smallest coding that the client accepts. */
function chooseCoding(accepted: string): keyof Asset['bodies'] {
  const named = accepted.split(',').map((part) => part.trim().toLowerCase())
  const isAccepted = (coding: string) => named.some((part) => part.split(';')[0] === coding && !REFUSED.test(part))
  return CODINGS.find(isAccepted) ?? 'identity'
}

const REFUSED = /;\s*q=0(?:\.0*)?$/

/** Redirects a path without the trailing slash, because browsers do not send the cookie to it. */
async function showPage(context: RequestContext, options: PageOptions): Promise<Reply> {
  if (!context.path.raw.endsWith('/')) return { status: 308, headers: [['Location', CONSOLE_PATH]] }
  const values = {
    token: await findToken(context, options),
    signIn: options.isOwnOrigin || isTrustworthy(context) ? 'open' : 'closed',
    name: encodeURIComponent(options.instanceName()),
  }
  return renderPage(options.files.page, values, [
    ['Vary', ['Cookie', 'Sec-Fetch-Dest', 'Sec-Fetch-Mode', PRELOAD_HEADER, ...PURPOSE_HEADERS].join(', ')],
  ])
}

/** `values` replace the placeholders of the page. They need no escaping in HTML: base64url, percent-encoded or fixed words. */
export function renderPage(
  page: string,
  values: Readonly<Record<string, string>>,
  headers: readonly HeaderPair[] = [],
): Reply {
  const nonce = randomBytes(16).toString('base64url')
  const all: Readonly<Record<string, string>> = { ...values, nonce }
  return {
    status: 200,
    headers: [['Content-Type', 'text/html; charset=utf-8'], toPolicy(nonce), ...headers],
    body: page.replace(/\{\{(\w+)\}\}/g, (_match, name: string) => all[name] ?? ''),
  }
}

/**
 * The page token for a navigation of the user; otherwise empty. A script of this origin could read the response to its
 * own request, a service worker that to a preload, and another page could have caused a prefetch.
 */
async function findToken(context: RequestContext, { sessions, isOwnOrigin }: PageOptions): Promise<string> {
  // over plain HTTP browsers send no Sec-Fetch headers; here no other page shares the origin
  const isUnlabelled = isOwnOrigin && context.header('sec-fetch-dest') === undefined
  if ((!isTopLevelNavigation(context) && !isUnlabelled) || isPrefetch(context) || isPreload(context)) return ''
  const found = await sessions.find(context)
  return sessions.pageTokenOf(found?.credential.session) ?? ''
}

/** Allows the files of the page, and what they import, by nonce only: `'self'` would also allow attachments of a database. */
const toPolicy = (nonce: string): HeaderPair => [
  'Content-Security-Policy',
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    'img-src data:',
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
]

/** One file below `/_cardea/assets/`. Its name changes with its content. */
export interface Asset {
  readonly type: string
  /** By content coding; `identity` is the file itself. */
  readonly bodies: Readonly<Record<'identity' | 'gzip' | 'br', Uint8Array>>
}

export interface ConsoleFiles {
  /** Contains the placeholders `{{token}}`, `{{signIn}}`, `{{name}}` and `{{nonce}}`. */
  readonly page: string
  /** The sign-in page, with the placeholders `{{options}}` and `{{nonce}}`. */
  readonly signInPage: string
  readonly assets: ReadonlyMap<string, Asset>
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** For a checkout without a build. The page keeps its placeholders, so it is delivered like the real one. */
const NOT_BUILT_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="cardea-page-token" content="{{token}}">
<meta name="cardea-sign-in" content="{{signIn}}">
<meta name="cardea-name" content="{{name}}">
<meta name="cardea-options" content="{{options}}">
<title>Cardea</title>
</head>
<body>
<h1>Cardea</h1>
<p>The console is not built. Run <code>npm run build</code> and start Cardea again.</p>
</body>
</html>
`

/** Reads what `npm run build` made in this folder. */
export function loadConsoleFiles(folder: URL): ConsoleFiles {
  const [page, signInPage] = [new URL('index.html', folder), new URL('sign-in.html', folder)]
  if (!existsSync(signInPage)) return { page: NOT_BUILT_PAGE, signInPage: NOT_BUILT_PAGE, assets: new Map() }
  const assets = new URL('assets/', folder)
  const names = readdirSync(assets).filter((name) => TYPES[extensionOf(name)] !== undefined)
  return {
    page: readFileSync(page, 'utf8'),
    signInPage: readFileSync(signInPage, 'utf8'),
    assets: new Map(names.map((name) => [name, loadAsset(new URL(name, assets))])),
  }
}

const loadAsset = (file: URL): Asset => ({
  type: TYPES[extensionOf(file.pathname)] ?? '',
  bodies: {
    identity: readFileSync(file),
    gzip: readFileSync(new URL(`${file}.gz`)),
    br: readFileSync(new URL(`${file}.br`)),
  },
})

const extensionOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1)
