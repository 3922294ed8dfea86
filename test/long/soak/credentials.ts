// Cookies and tokens of one user, and the expected result of each use.
import { basic } from './ask.ts'
import type { Node } from './node.ts'

/** Sessions live for ten minutes without use; older ones are not judged. */
const MAX_AGE_MS = 300_000
const MAX_KEPT = 12

/** How each kind of credential is opened, used and ended. A use gives the name it was accepted for, `null` if rejected. */
const KINDS = {
  cookie: {
    door: 'document',
    open: ({ name, password }) => ({ method: 'POST', path: '/_session', body: { name, password } }),
    readOpened: ({ status, cookie }) => (status === 200 ? cookie : undefined),
    toHeaders: (value) => ({ Cookie: value }),
    own: () => '/_session',
    readOwn: ({ json }) => json?.userCtx?.name ?? null,
    forwarded: '/soak/document',
    end: '/_session',
  },
  token: {
    door: 'multiModel',
    open: ({ name, password }) => ({ method: 'POST', path: '/_open/auth', body: { username: name, password } }),
    readOpened: ({ status, json }) => (status === 200 ? json?.jwt : undefined),
    toHeaders: (value) => ({ Authorization: `bearer ${value}` }),
    own: (name) => `/_api/user/${name}`,
    readOwn: ({ status, json }) => (status === 200 ? json?.user : null),
    forwarded: '/_db/_system/_api/document/soak/1',
    end: '/_open/auth',
  },
}
const KIND_NAMES = Object.keys(KINDS)

/** Changes one character of the signature. */
function forge(value) {
  const at = value.length - 6
  return `${value.slice(0, at)}${value[at] === 'A' ? 'B' : 'A'}${value.slice(at + 1)}`
}

interface Credential {
  readonly kind: string
  readonly value: string
  state: string
  readonly openedAt: number
  readonly openedBy: Node
  readonly rotations: object
  endedAt?: number
  endedBy?: Node
}

export class Credentials {
  #user
  #run
  #list: Credential[] = []
  #opened = 0

  /** `user`: `name`, `password`, `isSettled(node)`. `run`: `testbed`, `ledger`, `history`, `random`, `graceMs`. */
  constructor(user, run) {
    this.#user = user
    this.#run = run
  }

  get #live() {
    return this.#list.filter(({ state }) => state === 'live')
  }

  /** Ends all live credentials by a change that `node` acknowledged; `undefined`: it is not known whether they ended. */
  endAll(node) {
    for (const credential of this.#live) this.#end(credential, node)
  }

  #end(credential, node) {
    credential.state = node ? 'revoked' : 'unknown'
    credential.endedAt = Date.now()
    credential.endedBy = node
    this.#noteChange(credential, node, false)
    if (node) this.#run.ledger.count('credentials revoked')
  }

  async open(node) {
    const { random, testbed, ledger } = this.#run
    const kind = random.pick(KIND_NAMES)
    const { door, open, readOpened } = KINDS[kind]
    const [{ rotations }, isSettled] = [testbed, this.#user.isSettled(node)]
    const reply = await this.#ask(node[door], open(this.#user))
    const value = readOpened(reply)
    if (value === undefined) {
      const isWrong = !reply.isUndecided && isSettled
      if (isWrong) ledger.violate('right password rejected', `${this.#user.name} at ${node.name}: ${reply.status}`)
      return
    }
    ledger.count('signed in')
    // a node that does not know the last change yet opens a session that others reject
    if (!isSettled) return
    // while a secret is rotated, either may have signed
    if (rotations.isUnderWay || testbed.rotations.isUnderWay || rotations.retired !== testbed.rotations.retired) return
    const subject = `${this.#user.name} ${++this.#opened}`
    this.#list.push({ subject, kind, value, state: 'live', openedAt: Date.now(), openedBy: node, rotations })
    this.#noteChange({ subject }, node, true)
    if (this.#list.length > MAX_KEPT) this.#list.splice(random.below(MAX_KEPT / 2), 1)
  }

  async useAny(node) {
    const { random } = this.#run
    const list = random.below(3) > 0 ? this.#live : this.#list
    if (list.length > 0) await this.use(random.pick(list), node)
  }

  async useEach(node) {
    for (const credential of this.#list) await this.use(credential, node)
  }

  /** Sends it to the node itself or through it to the upstream server, and judges the response. */
  async use(credential, node) {
    const { random, testbed } = this.#run
    const { door, toHeaders, own, readOwn, forwarded } = KINDS[credential.kind]
    const isForwarded = random.below(3) === 0
    const before = {
      ...credential,
      at: Date.now(),
      startMs: performance.now(),
      rotations: testbed.rotations,
      isSettled: this.#user.isSettled(node),
    }
    const path = isForwarded ? forwarded : own(this.#user.name)
    const reply = await this.#ask(node[door], { path, headers: toHeaders(credential.value) })
    if (reply.isUndecided) return
    const name = isForwarded ? (reply.status === 200 ? (reply.json?.name ?? null) : null) : readOwn(reply)
    this.#judge({ credential, before, node, name, status: reply.status, path })
  }

  #judge({ credential, before, node, name, status, path }) {
    const { ledger, testbed } = this.#run
    const where = this.#describe(credential, { node, status, path })
    ledger.count(name === null ? 'credentials rejected' : 'credentials accepted')
    if (name !== null && name !== this.#user.name) ledger.violate('accepted as another user', `${where}: ${name}`)
    const isRetired = credential.kind === 'token' && credential.rotations.retired < before.rotations.retired
    if (isRetired || this.#isRevoked(before, node)) {
      ledger.count('revoked credentials tried')
      if (name !== null) ledger.violate('revoked credential accepted', where)
      if (!isRetired) this.#noteDecision(before, node, name !== null)
      return
    }
    const isSame = testbed.rotations.retired === credential.rotations.retired && !testbed.rotations.isUnderWay
    const isYoung = Date.now() - credential.openedAt < MAX_AGE_MS
    // a node keeps the secret before the last one in memory only
    const secrets = node.startedAt < credential.openedAt ? 2 : 1
    const isKept = testbed.rotations.cookies - credential.rotations.cookies < secrets
    const mustPass = before.state === 'live' && before.isSettled && isSame && isYoung && isKept
    if (mustPass && name === null) ledger.violate('live credential rejected', where)
    // a rejection may have other reasons
    if (mustPass || name !== null) this.#noteDecision(before, node, name !== null)
  }

  #noteChange({ subject }, node, isValid) {
    const acknowledgedMs = node && performance.now()
    this.#run.history.change({ subject, isValid, sentMs: this.#user.askedMs, acknowledgedMs, node: node?.name })
  }

  #noteDecision({ subject, startMs }, { name: node }, isAccepted) {
    this.#run.history.decide({ subject, node, isAccepted, startMs, endMs: performance.now() })
  }

  #describe({ kind, openedAt, openedBy, endedAt }, { node, status, path }) {
    const ago = (ms) => `${Date.now() - ms} ms ago`
    const ended = endedAt === undefined ? '' : `, ended ${ago(endedAt)}`
    const life = `opened ${ago(openedAt)} by ${openedBy.name}${ended}, last change ${ago(this.#user.changedAt)}`
    return `${kind} of ${this.#user.name} at ${node.name} ${path}: status ${status}, ${life}`
  }

  /** Other nodes know of it after the grace period. */
  #isRevoked({ state, endedAt, endedBy, at }, node) {
    return state === 'revoked' && (endedBy === node || at - endedAt > this.#run.graceMs)
  }

  async endOne(node) {
    const credential = this.#live[0]
    if (!credential) return
    const { door, end, toHeaders } = KINDS[credential.kind]
    const headers = toHeaders(credential.value)
    const { status, isUndecided } = await this.#ask(node[door], { method: 'DELETE', path: end, headers })
    if (status === 200) this.#end(credential, node)
    else if (isUndecided) this.#end(credential, undefined)
  }

  /** Credentials that were never valid. */
  async tryForged(node, wrongPassword) {
    const { ledger } = this.#run
    const { name } = this.#user
    const [live] = this.#live
    const tries = [
      ['document', { path: '/_session', headers: { Authorization: basic({ name, password: wrongPassword }) } }],
      [
        'multiModel',
        { path: `/_api/user/${name}`, headers: { Authorization: basic({ name, password: wrongPassword }) } },
      ],
      ...(live ? [[KINDS[live.kind].door, this.#toForged(live)]] : []),
    ]
    for (const [door, request] of tries) {
      const reply = await this.#ask(node[door], request)
      ledger.count('forged credentials tried')
      const isAccepted = reply.json?.userCtx?.name === name || reply.json?.user === name
      if (isAccepted) ledger.violate('wrong credential accepted', `${name} at ${node.name}: ${request.path}`)
    }
  }

  #toForged({ kind, value }) {
    return { path: KINDS[kind].own(this.#user.name), headers: KINDS[kind].toHeaders(forge(value)) }
  }

  #ask(base, request) {
    return this.#user.ask(base, request)
  }
}
