import type { SignIn } from '../api/client.ts'
import { texts } from '../texts.ts'
import { Address, Time } from './parts.tsx'

interface LastSignInProps {
  readonly signIn: SignIn | null
  /** Whether the address of the client is shown, too. */
  readonly hasPeer?: boolean
}

export function LastSignIn({ signIn, hasPeer = false }: LastSignInProps) {
  if (!signIn) return <span class="quiet">{texts.users.noSignIn}</span>
  return (
    <>
      <Time at={signIn.at} />
      {hasPeer && signIn.peer !== '' && (
        <>
          {' '}
          {texts.users.from} <Address of={signIn.peer} />
        </>
      )}
    </>
  )
}
