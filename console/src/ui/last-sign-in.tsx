import type { LastSignInView } from '../api/client.ts'
import { shared } from '../texts.ts'
import { Address, Time } from './parts.tsx'

interface LastSignInProps {
  readonly signIn: LastSignInView | null
  /** Whether the address of the client is shown, too. */
  readonly hasPeer?: boolean
}

export function LastSignIn({ signIn, hasPeer = false }: LastSignInProps) {
  if (!signIn) return <span class="quiet">{shared.users.noSignIn}</span>
  return (
    <>
      <Time at={signIn.at} />
      {hasPeer && signIn.peer !== '' && (
        <>
          {' '}
          {shared.users.from} <Address of={signIn.peer} />
        </>
      )}
    </>
  )
}
