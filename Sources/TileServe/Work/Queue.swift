/// First in, first out, in amortised constant time.
struct Queue<Element> {
  private var elements: [Element?] = []
  private var first = 0

  var count: Int { elements.count - first }
  var isEmpty: Bool { first == elements.count }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard first < elements.count else { return nil }
    let element = elements[first]
    elements[first] = nil
    first += 1
    if first == elements.count {
      elements.removeAll(keepingCapacity: elements.count <= 64)
      first = 0
    } else if first > 32, first * 2 > elements.count {
      elements.removeFirst(first)
      first = 0
    }
    return element
  }

  mutating func removeAll() {
    elements.removeAll()
    first = 0
  }
}
