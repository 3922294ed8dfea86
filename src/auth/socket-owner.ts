// The control socket: only the owner of its file can connect, and may do everything.
import { ANONYMOUS, type Authenticated, type CredentialKind } from '../directory/identity.ts'

export const SOCKET_OWNER: CredentialKind = { name: 'control socket' }

export const OWNER: Authenticated = Object.freeze({
  identity: Object.freeze({ ...ANONYMOUS.identity, isAdmin: true }),
  credential: Object.freeze({ kind: SOCKET_OWNER, handler: 'socket' }),
})

/** The name of the listener of the control socket. */
export const CONTROL_DOOR = 'control'
