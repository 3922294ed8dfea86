// Makes the elements of the page. Nothing is parsed as HTML.

type Attributes = Readonly<Record<string, string | boolean>>

export function element(tag: string, attributes: Attributes, ...children: readonly (Node | string)[]): HTMLElement {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes))
    if (value !== false) made.setAttribute(name, value === true ? '' : value)
  made.append(...children)
  return made
}

export function button(label: string, kind: 'primary' | 'quiet' | '', onClick?: () => void): HTMLElement {
  const made = element('button', { class: `button ${kind}`, type: onClick ? 'button' : 'submit' }, label)
  if (onClick) made.addEventListener('click', onClick)
  return made
}

/** A field of a form, with its label. */
export const field = (label: string, name: string, attributes: Attributes): HTMLElement =>
  element(
    'div',
    { class: 'field' },
    element('label', { for: name }, label),
    element('input', { class: 'input', id: name, name, required: true, autocapitalize: 'none', ...attributes }),
  )

/** A form whose button waits while `submit` runs. What it throws is shown above the fields. */
export function form(children: readonly Node[], submit: (fields: Record<string, string>) => Promise<void>) {
  const problem = element('div', { role: 'alert' })
  const made = element('form', { class: 'stack' }, problem, ...children)
  let isBusy = false
  made.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (isBusy || !(made instanceof HTMLFormElement)) return
    isBusy = true
    problem.replaceChildren()
    try {
      // the page has text fields only
      await submit(Object.fromEntries(new FormData(made)) as Record<string, string>)
    } catch (error) {
      problem.replaceChildren(element('p', { class: 'notice danger' }, error instanceof Error ? error.message : ''))
      const fields = [...made.querySelectorAll('input')]
      fields.at(-1)?.focus()
    } finally {
      isBusy = false
    }
  })
  return made
}

const card = document.getElementById('card') ?? document.body

/** Replaces what the card shows. The first field gets the focus, else the title: a screen reader reads it. */
export function show(title: string, ...children: readonly Node[]): void {
  const heading = element('h1', { tabindex: '-1' }, title)
  card.replaceChildren(heading, ...children)
  document.title = title
  const first = card.querySelector('input') ?? heading
  first.focus()
}
