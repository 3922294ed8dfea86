import { useState } from 'preact/hooks'
import { shared } from '../texts.ts'
import { Button } from './parts.tsx'

export function CopyButton({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return <Button onClick={copy}>{isCopied ? shared.actions.copied : shared.actions.copy}</Button>
}
