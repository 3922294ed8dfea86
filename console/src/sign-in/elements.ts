// Makes the elements of the page. Nothing is parsed as HTML.
import { options } from './server.ts'
import { texts } from './texts.ts'

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

/** A field of a form, with its label. A password can be shown while it is typed. */
export function field(label: string, name: string, attributes: Attributes): HTMLElement {
  const given = { class: 'input', id: name, name, required: true, autocapitalize: 'none', ...attributes }
  const input = element('input', given)
  const shown =
    attributes['type'] === 'password' ? element('div', { class: 'input-row' }, input, showButton(input)) : input
  return element('div', { class: 'field' }, element('label', { for: name }, label), shown)
}

function showButton(input: HTMLElement): HTMLElement {
  const made = button(texts.show, '', () => {
    const isShown = input.getAttribute('type') === 'text'
    input.setAttribute('type', isShown ? 'password' : 'text')
    made.textContent = isShown ? texts.show : texts.hide
  })
  return made
}

/** For less, a person thinks that the page is busy. */
const PATIENCE_MS = 3000

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
    const timer = setTimeout(
      () => problem.replaceChildren(element('p', { class: 'notice' }, texts.waiting)),
      PATIENCE_MS,
    )
    try {
      // the page has text fields only
      await submit(Object.fromEntries(new FormData(made)) as Record<string, string>)
      problem.replaceChildren()
    } catch (error) {
      problem.replaceChildren(element('p', { class: 'notice danger' }, error instanceof Error ? error.message : ''))
      const fields = [...made.querySelectorAll('input')]
      fields.at(-1)?.focus()
    } finally {
      clearTimeout(timer)
      isBusy = false
    }
  })
  return made
}

const instance = document.getElementById('instance')
if (instance) instance.textContent = options.instanceName || location.host

const card = document.getElementById('card') ?? document.body

/** Replaces what the card shows. The first field gets the focus, else the title: a screen reader reads it. */
export function show(title: string, ...children: readonly Node[]): void {
  const heading = element('h1', { tabindex: '-1' }, title)
  card.replaceChildren(heading, ...children)
  document.title = options.instanceName === '' ? title : `${title} · ${options.instanceName}`
  const first = card.querySelector('input') ?? heading
  first.focus()
}
