// What an application sees of the client.
import type { SignIn } from './credential.ts'
import type {
  AddPasskeyResult,
  ChangePasswordResult,
  ConfirmResult,
  PasskeySignInResult,
  RequestResult,
  Session,
  SignInResult,
  SignUpResult,
} from './results.ts'
import type { ChangeListener } from './session-keeper.ts'

/** The members of a user document that the application adds. */
export type OtherMembers = Readonly<Record<string, unknown>>

/** For a session that was opened a while ago, or not with the password. */
export interface PasswordProof {
  readonly currentPassword?: string
  /** A passkey of the user signs the call in place of the password: the browser asks for it. */
  readonly passkey?: boolean
}

/** How a passkey signs in. */
export interface PasskeySignIn {
  /** With the password: the passkey is the second step, after the result `code_required`. */
  readonly name?: string
  readonly password?: string
  /** Offers passkeys in the list of the name field, which needs `autocomplete="username webauthn"`, until one is picked. */
  readonly conditional?: boolean
  /** Ends the call. So does a later call that needs a passkey, any other sign-in, and `close`. */
  readonly signal?: AbortSignal
}

/** A passkey in a list. Times are in seconds since the epoch. */
export interface ListedPasskey {
  readonly id: string
  /** What the user calls it. */
  readonly label: string
  /** A key to plug in, one device, or an account that copies it to several. */
  readonly kind: 'security-key' | 'device' | 'synced'
  /** The host that it was made for. It works for no other. */
  readonly host: string
  readonly createdAt: number
  /** Exact to the minute. Left out: it was not used yet. */
  readonly usedAt?: number
}

/** What the server knows of the user. */
export interface AccountExport {
  readonly exportedAt: string
  readonly name: string
  /** `null`: an administrator without a user. */
  readonly user: Readonly<Record<string, unknown>> | null
  readonly lastSignIn: Readonly<Record<string, string>> | null
  readonly sessions: readonly ListedSession[]
}

/** A session in a list. Times are in seconds since the epoch. */
export interface ListedSession {
  readonly id: string
  /** The door or listener that opened it. */
  readonly door: string
  readonly createdAt: number
  /** Exact to the minute. */
  readonly seenAt: number
  /** When it ends, unless it is used before. */
  readonly expiresAt: number
  /** Address of the client that used it last. */
  readonly peer: string
  readonly userAgent: string
  /** Whether it is the session of this client. */
  readonly isCurrent: boolean
}

/** An identity provider at which users can sign in. */
export interface ListedProvider {
  readonly name: string
  /** For a button. */
  readonly label: string
}

export interface Client {
  /** The URL of the door, with a slash at its end. */
  readonly url: string
  /** Creates a user, if the server allows sign-up. It does not sign in. */
  signUp(name: string, password: string, members?: OtherMembers): Promise<SignUpResult>
  /** `code`: a one-time code or a recovery code, if the user has a second factor. */
  signIn(given: SignIn): Promise<SignInResult>
  /** Signs in with a passkey, without a name, or as the second step. Needs a page of a host that the server accepts. */
  signInWithPasskey(options?: PasskeySignIn): Promise<PasskeySignInResult>
  /** The identity providers of the server at which browsers can sign in. */
  providers(): Promise<readonly ListedProvider[]>
  /**
   * Leaves the page to sign in at an identity provider, and comes back with a session: to `next`, a path of this origin,
   * or to the page itself. Needs the cookie, and a page on the origin of the door.
   */
  signInWith(provider: string, options?: { readonly next?: string }): Promise<void>
  /**
   * Who is signed in, as the server says; `null`: no user is. `cached`: as it said last, without a request, so that a page
   * starts without the network.
   */
  session(options?: { readonly cached?: boolean }): Promise<Session | null>
  /** Calls the listener whenever the session begins, is renewed or ends, in any tab. Returns a function that stops it. */
  onChange(listener: ChangeListener): () => void
  /** Sends a request with the session. Made for the option `fetch` of PouchDB. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /**
   * The current token, renewed if it is due, for a program that sends requests itself, as arangojs; `null`: no user is
   * signed in. Needs `credential: 'token'`.
   */
  token(): Promise<string | null>
  /** Ends this session; `everywhere`: all sessions of the user, which needs a proof of the password. */
  signOut(options?: { readonly everywhere?: boolean } & PasswordProof): Promise<void>
  /** Ends all other sessions of the user. `current`: the password, or a proof. */
  changePassword(current: string | PasswordProof, password: string): Promise<ChangePasswordResult>
  /**
   * Where the server has `mail.sign-up = verified`: sends a link to the address. The result does not show whether it has an
   * account.
   */
  requestSignUp(name: string, address: string): Promise<RequestResult>
  /** `token`: the secret of such a link, for a page of your own. Creates the user. */
  confirmSignUp(token: string, password: string): Promise<ConfirmResult>
  /** Sends a link to choose a new password to the user with this address. The result does not show whether there is one. */
  requestPasswordReset(address: string): Promise<RequestResult>
  /** `token`: the secret of such a link, for a page of your own. Ends all sessions of the user. */
  confirmPasswordReset(token: string, password: string): Promise<ConfirmResult>
  /** Sends a link to the address, which becomes that of the user when the link is used. Needs a proof of the password. */
  changeAddress(address: string, proof?: PasswordProof): Promise<RequestResult>
  /** `token`: the secret of such a link. */
  confirmAddress(token: string): Promise<ConfirmResult>
  /** One-time codes of an authenticator app. */
  readonly secondFactor: {
    /** A new secret, and the URI to show as a QR code. It counts when it is confirmed. */
    enrol(proof?: PasswordProof): Promise<{ readonly secret: string; readonly uri: string }>
    /** Requires codes from now on, and ends all other sessions. Returns the recovery codes, which are shown once. */
    confirm(secret: string, code: string, proof?: PasswordProof): Promise<readonly string[]>
    /** Requires codes no more. */
    disable(proof?: PasswordProof): Promise<void>
    /** Replaces the recovery codes. */
    recoveryCodes(proof?: PasswordProof): Promise<readonly string[]>
  }
  /** The passkeys of the user. */
  readonly passkeys: {
    /** Whether this page can use passkeys. It needs a current browser, HTTPS and a host name, or `localhost`. */
    areAvailable(): boolean
    list(): Promise<readonly ListedPasskey[]>
    /** The browser makes one. Needs a proof of the password. */
    add(label: string, proof?: PasswordProof): Promise<AddPasskeyResult>
    rename(id: string, label: string): Promise<void>
    /** Ends all other sessions, with tokens this one too. Needs a proof of the password. */
    remove(id: string, proof?: PasswordProof): Promise<void>
    /** Removes the password, if the user has two passkeys, or one and an account at an identity provider. */
    replacePassword(): Promise<void>
  }
  /** The sessions of the user, at every door. */
  readonly sessions: {
    /** The newest first. */
    list(): Promise<readonly ListedSession[]>
    /** Ends one of them. All but this one need a proof of the password. */
    end(id: string, proof?: PasswordProof): Promise<void>
  }
  /** The URL of the user's own database, for PouchDB; `null`: the server creates none, or has refused it. */
  database(): Promise<string | null>
  /** What the server knows of the user, to be saved as JSON. The audit trail is not part of it. */
  exportAccount(): Promise<AccountExport>
  /** Deletes the user, and ends all its sessions. Its databases stay. Needs a proof of the password. */
  deleteAccount(proof?: PasswordProof): Promise<void>
  /** Ends timers and what waits. The session itself stays. Later requests throw. */
  close(): void
}
