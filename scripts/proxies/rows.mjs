// What is sent through a proxy, and what has to come of it.
import { createHmac } from 'node:crypto'
import { TEST_ADMINISTRATOR } from '../../src/index.ts'

const KEY = 'a-key-of-the-proxies-script-for-tokens'

/** The laxest there is: every proxy that is trusted may say who somebody is. */
export const OPTIONS = {
  // and a second after sign-in a cookie is due for renewal
  chttpd_auth: { proxy_use_secret: false, timeout: 9 },
  jwt_keys: { 'hmac:_default': Buffer.from(KEY).toString('base64') },
}

const ADA = { name: 'ada', password: 'pw', roles: ['reader', 'writer'] }
/** Has no roles: what a proxy is told of them is empty. */
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
    if (status !== 201) throw new Error(`the user was not made: ${status}`)
  }
}

// --- credentials

async function getCookie(document, user) {
  const body = JSON.stringify({ name: user.name, password: user.password })
  const answer = await fetch(`${document}/_session`, { method: 'POST', headers: JSON_TYPE, body })
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
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
  const answer = await fetch(`${multiModel}/_open/auth`, { method: 'POST', headers: JSON_TYPE, body })
  return { Authorization: `bearer ${(await answer.json()).jwt}` }
}

// --- claims of a client's own

const SAID = 'evil'

/** Each of these is a hyphen to some server. */
const SIGNS = [..."!#$%&'*+.^_`|~"]

const spell = (sign) => [
  `X${sign}Auth${sign}User`,
  `x-auth${sign}roles`,
  `X${sign}Auth-Token`,
  `Remote${sign}User`,
  `X${sign}Auth${sign}CouchDB${sign}UserName`,
]

const CLAIMS = [
  ...['X-Auth-User', 'x-auth-roles', 'X-AUTH-TOKEN', 'X-Forwarded-User', 'X-Remote-User'],
  ...['Remote-User', 'Remote-Groups', 'Remote-Name', 'Remote-Email', 'X-Authenticated-User'],
  ...['X-Auth-CouchDB-UserName', 'X-Auth-CouchDB-Roles', 'X-Auth-CouchDB-Token'],
  ...['X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded-Ssl', 'Forwarded', 'X-Real-IP'],
]

const SPOOFED = Object.fromEntries([...CLAIMS, ...SIGNS.flatMap(spell)].map((name) => [name, SAID]))
const AS_ADMINISTRATOR = { 'X-Auth-CouchDB-UserName': 'admin', 'X-Auth-CouchDB-Roles': '_admin' }
const TAKING_AWAY = { Connection: 'close, X-Auth-User, X-Auth-Roles, X-Auth-Token, Authorization, Cookie' }
const UPGRADING = { Connection: 'Upgrade, X-Auth-User, X-Auth-Roles', Upgrade: 'websocket' }

// --- what is right

const isRefused = ({ status, headers }) => status === 401 && headers['www-authenticate']?.startsWith('Basic ') === true

/** Told of this user and nothing else, and not what would let the application be this user elsewhere. */
const isTold = (user) => (answer) => {
  const { status, told } = answer
  if (status !== 200) return false
  const { 'x-auth-user': name, 'x-auth-roles': roles = '', 'x-auth-token': token } = told.headers
  const isHidden = told.headers.authorization === undefined && !/AuthSession/i.test(told.headers.cookie ?? '')
  const isUnclaimed = !told.rawHeaders.some((text) => text.includes(SAID) || text === 'admin' || text === '_admin')
  return isHidden && isUnclaimed && name === user.name && roles === user.roles.join(',') && isToken(token, user)
}

function isToken(token, { name, roles }) {
  const claims = JSON.parse(Buffer.from(token?.split('.')[1] ?? 'e30', 'base64url').toString())
  return claims.sub === name && claims.roles.join() === roles.join()
}

const isAda = isTold(ADA)
const isBob = isTold(BOB)
const isPosted = (answer) => isAda(answer) && answer.told.method === 'POST' && answer.told.body === 'a body'
const isRenewed = (answer) =>
  isAda(answer) && answer.headers['set-cookie']?.some((text) => /^AuthSession=[^;]/.test(text)) === true
const keepsTheme = (answer) => isAda(answer) && /(^|[; ])theme=dark($|;)/.test(answer.told.headers.cookie)

function listCommon({ hidesGate }) {
  const own = basic(ADA)
  const post = { method: 'POST', body: 'a body' }
  return [
    ['nothing', {}, isRefused],
    ['a wrong password', { headers: basic({ ...ADA, password: 'wrong' }) }, isRefused],
    ['headers that claim to be somebody', { headers: SPOOFED }, isRefused],
    ['headers that claim to be an administrator', { headers: AS_ADMINISTRATOR }, isRefused],
    ['a rubbish token', { headers: { Authorization: 'Bearer x.y.z' } }, isRefused],
    ['the path of the gate', { path: '/_gate', headers: own }, hidesGate ? ({ status }) => status === 404 : isAda],
    ['Basic', { headers: own }, isAda],
    ['Basic of who has no roles', { headers: basic(BOB) }, isBob],
    ['Basic with headers that claim to be somebody else', { headers: { ...SPOOFED, ...own } }, isAda],
    ['who has no roles, with headers that claim some', { headers: { ...SPOOFED, ...basic(BOB) } }, isBob],
    ['who has no roles, as an administrator', { headers: { ...AS_ADMINISTRATOR, ...basic(BOB) } }, isBob],
    ['ours named in Connection', { headers: { ...TAKING_AWAY, ...own } }, isAda],
    ['ours named in an upgrade', { headers: { ...UPGRADING, ...own } }, isAda],
    ["the gate's parameters in a query of the application's", { path: '/?role=x&rol=y', headers: own }, isAda],
    ["a cookie of the application's", { headers: { ...own, Cookie: 'a=1; theme=dark; b=2' } }, keepsTheme],
    ['a body', { ...post, headers: { ...own, 'Content-Length': post.body.length } }, isPosted],
    ['a body in pieces', { ...post, headers: { ...own, 'Transfer-Encoding': 'chunked' } }, isPosted],
  ]
}

async function listDocumentRows(document) {
  const cookie = await getCookie(document, ADA)
  const withCookie = (text) => ({ headers: { Cookie: text } })
  return [
    ['a cookie', withCookie(cookie), isAda],
    ['a cookie of who has no roles', { headers: { ...SPOOFED, Cookie: await getCookie(document, BOB) } }, isBob],
    ['a cookie before another', withCookie(`${cookie}; theme=dark`), keepsTheme],
    ['a cookie after another', withCookie(`theme=dark; ${cookie}`), keepsTheme],
    ['a cookie between others', withCookie(`a=1; ${cookie}; theme=dark`), keepsTheme],
    ['a cookie within another', withCookie(`a ${cookie}`), isRefused],
    ['two cookies of one name', withCookie(`${cookie}; AuthSession=old`), isAda],
    ['two headers of cookies', withCookie([cookie, cookie.replace('AuthSession', 'authsession')]), isAda],
    ['a cookie that is due for renewal', { ...withCookie(cookie), isRepeated: true }, isRenewed],
    ['a cookie that is none', withCookie('AuthSession=rubbish'), isRefused],
    ['a token', { headers: signToken(ADA) }, isAda],
    ['a token of who has no roles', { headers: { ...SPOOFED, ...signToken(BOB) } }, isBob],
  ]
}

/** For each door: its address, and what is asked through the proxy before it. */
export async function listDoors({ document, multiModel }, proxy) {
  const token = await getToken(multiModel, ADA)
  return {
    document: { gate: document, rows: [...listCommon(proxy), ...(await listDocumentRows(document))] },
    'multi-model': { gate: multiModel, rows: [...listCommon(proxy), ['a token', { headers: token }, isAda]] },
  }
}
