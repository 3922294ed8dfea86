// What can be done with a user, one row each. The address says which dialog is open: `?do=disable`.
import { api, toPath, type UserDetailsView } from '../../api/client.ts'
import { shared } from '../../texts.ts'
import { texts } from './texts.ts'

export interface UserAction {
  /** On the button that opens the dialog. */
  readonly short: string
  readonly label: (name: string) => string
  /** What will happen. */
  readonly effect: (user: UserDetailsView) => string
  readonly done: (name: string) => string
  readonly isDanger?: boolean
  /** Whether the action applies to this user. */
  readonly isOffered: (user: UserDetailsView) => boolean
  readonly run: (name: string, proof: object) => Promise<unknown>
  /** The user is gone afterwards. */
  readonly removes?: boolean
}

const of = (name: string, ...rest: readonly string[]): string => toPath('users', name, ...rest)

/** Actions that only need a confirmation. */
export const CONFIRMED_ACTIONS: Readonly<Record<string, UserAction>> = {
  disable: {
    ...texts.userActions.disable,
    isDanger: true,
    isOffered: ({ active }) => active,
    run: (name, proof) => api.put(of(name, 'active'), { active: false, ...proof }),
  },
  enable: {
    ...texts.userActions.enable,
    isOffered: ({ active }) => !active,
    run: (name) => api.put(of(name, 'active'), { active: true }),
  },
  unlock: {
    ...texts.userActions.unlock,
    isOffered: ({ lockout }) => lockout !== null,
    run: (name) => api.post(of(name, 'unlock')),
  },
  'sign-out': {
    ...shared.userActions.signOut,
    isDanger: true,
    isOffered: ({ sessions }) => sessions > 0,
    run: (name, proof) => api.post(of(name, 'sign-out'), proof),
  },
  'reset-totp': {
    ...shared.userActions.resetTotp,
    isDanger: true,
    isOffered: ({ totp }) => totp,
    run: (name, proof) => api.delete(of(name, 'totp'), proof),
  },
  delete: {
    ...texts.userActions.delete,
    isDanger: true,
    removes: true,
    isOffered: () => true,
    run: (name, proof) => api.delete(of(name), proof),
  },
}
