import { shared } from '../texts.ts'
import { TextField } from './field.tsx'

/** The name of something new. Browsers do not change what is typed. */
export const NameField = (props: Readonly<{ hint?: string; value: string; onValue: (value: string) => void }>) => (
  <TextField
    {...props}
    label={shared.users.name}
    isMono
    autoFocus
    autoComplete="off"
    autoCapitalize="none"
    spellcheck={false}
  />
)
