import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { RightsView, SessionView } from '../api/client.ts'

export interface SignedIn extends SessionView {
  readonly name: string
  readonly rights: RightsView
}

/** Whether the user must change the password or set up a second factor before anything else. */
export const mustActFirst = ({ mustChangePassword, mustSetUpFactor }: SessionView): boolean =>
  Boolean(mustChangePassword || mustSetUpFactor)

export const toSignedIn = (session: SessionView): SignedIn | undefined =>
  session.name === null
    ? undefined
    : { ...session, name: session.name, rights: session.rights ?? (session.isAdministrator ? 'administrator' : 'user') }

export const SessionContext = createContext<SignedIn | undefined>(undefined)

/** Who uses the console. Pages are only shown to a signed-in user. */
export function useSession(): SignedIn {
  const session = useContext(SessionContext)
  if (!session) throw new TypeError('no session')
  return session
}

export const useIsAdministrator = (): boolean => useSession().rights === 'administrator'
