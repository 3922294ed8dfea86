import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: 'primary' | 'danger' | 'quiet' | 'icon'
  readonly isBusy?: boolean
  readonly children: ComponentChildren
}

export function Button({ kind, isBusy = false, type = 'button', disabled, children, ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type} class={`button ${kind ?? ''}`} disabled={disabled || isBusy} aria-busy={isBusy}>
      {children}
    </button>
  )
}

interface ButtonLinkProps {
  readonly href: string
  readonly kind?: 'primary' | 'danger' | 'quiet'
  readonly children: ComponentChildren
}

/** Looks like a button and leads to another state of the page. */
export const ButtonLink = ({ href, kind, children }: ButtonLinkProps) => (
  <a class={`button ${kind ?? ''}`} href={href}>
    {children}
  </a>
)
