import { useEffect, useState } from 'preact/hooks'
import { type AccountView, api } from '../api/client.ts'
import { useResource } from '../api/use-resource.ts'
import { shared } from '../texts.ts'
import { Field, ShowButton } from './field.tsx'
import { Button } from './parts.tsx'
import { useDebounced } from './use-debounced.ts'

interface NewPasswordProps {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  /** The rules for passwords, in words. Left out: they are loaded, for a signed-in user. */
  readonly rules?: readonly string[]
  /** Called with whether the server would refuse the password. */
  readonly onRefused?: (isRefused: boolean) => void
  /** The name of the account that gets it. Left out: the own one. */
  readonly owner?: string
}

/** What a form knows about a new password. `field` goes to `NewPassword`. */
export function useNewPassword() {
  const [value, setValue] = useState('')
  const [isRefused, setRefused] = useState(false)
  return { value, isRefused, field: { value, onValue: setValue, onRefused: setRefused } }
}

/** A field for a new password. The server checks its rules while the user types. */
export function NewPassword({ label, value, onValue, rules, onRefused, owner }: NewPasswordProps) {
  const [isShown, setShown] = useState(false)
  const problems = usePasswordProblems(value, owner)
  const shownRules = useRules(rules)
  useEffect(() => onRefused?.(problems.length > 0), [problems])
  const suggest = () => {
    onValue(suggestPassword())
    setShown(true)
  }
  return (
    <Field label={label} hint={problems.length > 0 ? undefined : shownRules.join(' ')} problem={problems.join(' ')}>
      {(control) => (
        <div class="input-row">
          <input
            {...control}
            class="input mono"
            {...toType(isShown)}
            autoComplete="new-password"
            spellcheck={false}
            value={value}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
          <ShowButton isShown={isShown} onChange={setShown} />
          <Button onClick={suggest}>{shared.password.suggest}</Button>
        </div>
      )}
    </Field>
  )
}

function useRules(rules: readonly string[] | undefined): readonly string[] {
  const { data } = useResource('password rules', async (signal) =>
    rules === undefined ? api.get<AccountView>('/account', {}, signal) : undefined,
  )
  return rules ?? data?.passwordRules ?? []
}

/** The types of Preact accept no choice of two types. */
const toType = (isShown: boolean): object => ({ type: isShown ? 'text' : 'password' })

function usePasswordProblems(password: string, owner: string | undefined): readonly string[] {
  const settled = useDebounced(password, 200)
  const name = useDebounced(owner, 200)
  const [problems, setProblems] = useState<readonly string[]>([])
  useEffect(() => {
    const abort = new AbortController()
    const check = async () => {
      const report = await api.post<{ problems: readonly string[] }>(
        '/account/check-password',
        { password: settled, name: name || undefined },
        abort.signal,
      )
      setProblems(report.problems)
    }
    if (settled === '') setProblems([])
    // the server checks the rules again with the change itself
    else check().catch(() => undefined)
    return () => abort.abort()
  }, [settled, name])
  return problems
}

/** Without characters that look alike: 20 of 56 are 116 bits. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789'
const LENGTH = 20
const REJECTED_FROM = 256 - (256 % ALPHABET.length)

function suggestPassword(): string {
  let password = ''
  while (password.length < LENGTH)
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH)))
      if (byte < REJECTED_FROM && password.length < LENGTH) password += ALPHABET[byte % ALPHABET.length]
  return password
}
