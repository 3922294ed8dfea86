// The requests that are sent through a proxy, and the expected responses.
import { createHmac } from 'node:crypto'
import { TEST_ADMINISTRATOR } from '../../../src/index.ts'

const KEY = 'a-key-of-the-proxies-script-for-tokens'

/** The most permissive options: every trusted proxy may name the user. */
export const OPTIONS = {
  // a cookie is renewed from one second after sign-in on
  chttpd_auth: { proxy_use_secret: false, timeout: 9 },
  gate: { 'cache-seconds': 1, 'sign-in': true },
  jwt_keys: { 'hmac:_default': Buffer.from(KEY).toString('base64') },
}

const ADA = { name: 'ada', password: 'pw', roles: ['reader', 'writer'] }
/** Has no roles, so the header with roles is empty. */
const BOB = { name: 'bob', password: 'pw', roles: [] }

const JSON_TYPE = { 'Content-Type': 'application/json' }
const basic = ({ name, password }) => ({
  Authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})

export async function addUsers(document) {
  for (const user of [ADA, BOB]) {
    const { status } = await fetch(`${document}/_users/org.couchdb.user:${user.name}`, {
      method: 'PUT',
      headers: { ...basic(TEST_ADMINISTRATOR), ...JSON_TYPE },
      body: JSON.stringify({ ...user, type: 'user' }),
    })
    if (status !== 201) throw new Error(`the user was not created: ${status}`)
  }
}

// --- credentials

async function getCookie(document, user) {
  const body = JSON.stringify({ name: user.name, password: user.password })
  const response = await fetch(`${document}/_session`, { method: 'POST', headers: JSON_TYPE, body })
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

function signToken({ name, roles }) {
  const [head, claims] = [
    { alg: 'HS256', typ: 'JWT' },
    { sub: name, '_couchdb.roles': roles, exp: Math.floor(Date.now() / 1000) + 60 },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  const signature = createHmac('sha256', KEY).update(`${head}.${claims}`).digest('base64url')
  return { Authorization: `Bearer ${head}.${claims}.${signature}` }
}

async function getToken(multiModel, { name, password }) {
  const body = JSON.stringify({ username: name, password })
  const response = await fetch(`${multiModel}/_open/auth`, { method: 'POST', headers: JSON_TYPE, body })
  return { Authorization: `bearer ${((await response.json()) as { jwt: string }).jwt}` }
}

// --- identity headers that a client sends itself

const SPOOFED_VALUE = 'evil'

/** Some servers read these characters as a hyphen. */
const SIGNS = [..."!#$%&'*+.^_`|~"]

const spell = (sign) => [
  `X${sign}Auth${sign}User`,
  `x-auth${sign}roles`,
  `X${sign}Auth-Token`,
  `Remote${sign}User`,
  `X${sign}Auth${sign}CouchDB${sign}UserName`,
]

const CLAIMS = [
  ...['X-Auth-User', 'X-Auth-User-Id', 'x-auth-roles', 'X-AUTH-TOKEN', 'X-Forwarded-User', 'X-Remote-User'],
  ...['Remote-User', 'Remote-Groups', 'Remote-Name', 'Remote-Email', 'X-Authenticated-User'],
  ...['X-Auth-CouchDB-UserName', 'X-Auth-CouchDB-Roles', 'X-Auth-CouchDB-Token'],
  ...['X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded-Ssl', 'Forwarded', 'X-Real-IP'],
]

const SPOOFED = Object.fromEntries([...CLAIMS, ...SIGNS.flatMap(spell)].map((name) => [name, SPOOFED_VALUE]))
const AS_ADMINISTRATOR = { 'X-Auth-CouchDB-UserName': 'admin', 'X-Auth-CouchDB-Roles': '_admin' }
const REMOVED_BY_CONNECTION = { Connection: 'close, X-Auth-User, X-Auth-Roles, X-Auth-Token, Authorization, Cookie' }
const UPGRADING = { Connection: 'Upgrade, X-Auth-User, X-Auth-Roles', Upgrade: 'websocket' }

// --- expected responses

const isRefused = ({ status, headers }) => status === 401 && headers['www-authenticate']?.startsWith('Basic ') === true

/** The application receives this user's identity, and no credential that it could use elsewhere. */
const isIdentified = (user) => (reply) => {
  const { status, received } = reply
  if (status !== 200) return false
  const { 'x-auth-user': name, 'x-auth-user-id': id = '' } = received.headers
  const { 'x-auth-roles': roles = '', 'x-auth-token': token } = received.headers
  const isHidden = received.headers.authorization === undefined && !/AuthSession/i.test(received.headers.cookie ?? '')
  const isUnclaimed = !received.rawHeaders.some(
    (text) => text.includes(SPOOFED_VALUE) || text === 'admin' || text === '_admin',
  )
  return isHidden && isUnclaimed && name === user.name && roles === user.roles.join(',') && isToken(token, user, id)
}

function isToken(token, { name, roles }, id) {
  const claims = JSON.parse(Buffer.from(token?.split('.')[1] ?? 'e30', 'base64url').toString())
  return claims.sub === name && claims.roles.join() === roles.join() && (claims.user_id ?? '') === id
}

const isBadRequest = ({ status }) => status === 400
const isAda = isIdentified(ADA)
const isBob = isIdentified(BOB)
const isPosted = (reply) => isAda(reply) && reply.received.method === 'POST' && reply.received.body === 'a body'
const isRenewed = (reply) =>
  isAda(reply) && reply.headers['set-cookie']?.some((text) => /^AuthSession=[^;]/.test(text)) === true
const keepsTheme = (reply) => isAda(reply) && /(^|[; ])theme=dark($|;)/.test(reply.received.headers.cookie)

function listCommon({ hidesGate, checksUpgrades = false }) {
  const own = basic(ADA)
  const post = { method: 'POST', body: 'a body' }
  return [
    ['no credential', {}, isRefused],
    ['a wrong password', { headers: basic({ ...ADA, password: 'wrong' }) }, isRefused],
    ['identity headers of another user', { headers: SPOOFED }, isRefused],
    ['identity headers of an administrator', { headers: AS_ADMINISTRATOR }, isRefused],
    ['an invalid token', { headers: { Authorization: 'Bearer x.y.z' } }, isRefused],
    ['the path of the gate', { path: '/_gate', headers: own }, hidesGate ? ({ status }) => status === 404 : isAda],
    ['Basic', { headers: own }, isAda],
    ['Basic, a user without roles', { headers: basic(BOB) }, isBob],
    ['Basic, with identity headers of another user', { headers: { ...SPOOFED, ...own } }, isAda],
    ['a user without roles, with a header that claims some', { headers: { ...SPOOFED, ...basic(BOB) } }, isBob],
    [
      'a user without roles, with identity headers of an administrator',
      { headers: { ...AS_ADMINISTRATOR, ...basic(BOB) } },
      isBob,
    ],
    ['identity headers named in Connection', { headers: { ...REMOVED_BY_CONNECTION, ...own } }, isAda],
    [
      'identity headers named in an upgrade',
      { headers: { ...UPGRADING, ...own } },
      checksUpgrades ? isBadRequest : isAda,
    ],
    ['parameters of the gate in a query of the application', { path: '/?role=x&rol=y', headers: own }, isAda],
    ['a cookie of the application', { headers: { ...own, Cookie: 'a=1; theme=dark; b=2' } }, keepsTheme],
    ['a body', { ...post, headers: { ...own, 'Content-Length': post.body.length } }, isPosted],
    ['a chunked body', { ...post, headers: { ...own, 'Transfer-Encoding': 'chunked' } }, isPosted],
  ]
}

async function listDocumentRows(document) {
  const cookie = await getCookie(document, ADA)
  const withCookie = (text) => ({ headers: { Cookie: text } })
  return [
    ['a cookie', withCookie(cookie), isAda],
    ['a cookie of a user without roles', { headers: { ...SPOOFED, Cookie: await getCookie(document, BOB) } }, isBob],
    ['a cookie before another', withCookie(`${cookie}; theme=dark`), keepsTheme],
    ['a cookie after another', withCookie(`theme=dark; ${cookie}`), keepsTheme],
    ['a cookie between others', withCookie(`a=1; ${cookie}; theme=dark`), keepsTheme],
    ['a cookie within another', withCookie(`a ${cookie}`), isRefused],
    ['two cookies of one name', withCookie(`${cookie}; AuthSession=old`), isAda],
    ['two headers of cookies', withCookie([cookie, cookie.replace('AuthSession', 'authsession')]), isAda],
    ['a cookie that is due for renewal', { ...withCookie(cookie), isRepeated: true }, isRenewed],
    ['an invalid cookie', withCookie('AuthSession=invalid'), isRefused],
    ['a token', { headers: signToken(ADA) }, isAda],
    ['a token of a user without roles', { headers: { ...SPOOFED, ...signToken(BOB) } }, isBob],
  ]
}

const PAGE = { path: '/reports?x=1&y=2', headers: { Accept: 'text/html,*/*;q=0.8' } }

const isSentToSignIn = ({ status, headers }) =>
  status === 302 && /\/_cardea\/sign-in\?next=%2Freports%3Fx%3D1%26y%3D2$/.test(headers.location)

/** For proxies that send browsers to the sign-in page. */
const SIGN_IN_ROWS = [
  ['a browser without a session', PAGE, isSentToSignIn],
  ['a form of a browser without a session', { ...PAGE, method: 'POST' }, isRefused],
  ['the sign-in page', { path: '/_cardea/sign-in?next=%2F%2Fother' }, isBadRequest],
]

/** For each door: its address, and the requests that are sent through the proxy in front of it. */
export async function listDoors({ document, multiModel }, proxy) {
  const token = await getToken(multiModel, ADA)
  return {
    document: {
      gate: document,
      rows: [...listCommon(proxy), ...(await listDocumentRows(document)), ...(proxy.signsIn ? SIGN_IN_ROWS : [])],
    },
    'multi-model': { gate: multiModel, rows: [...listCommon(proxy), ['a token', { headers: token }, isAda]] },
  }
}
