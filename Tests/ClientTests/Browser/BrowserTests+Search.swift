import Foundation
import TestSupport
import Testing
import TileIndex

extension BrowserTests {
  /// The search box, by keyboard and by mouse.
  @Test(.enabled(if: isLong, longMessage), .enabled(if: hasLeaflet, .init(rawValue: leafletMessage)))
  func searchBox() throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle(
      "hills.mbtiles", zooms: 0...6,
      places: [
        Place(name: "Longs Peak", kind: "peak", longitude: -105.6, latitude: 40.25, importance: 0.5),
        Place(
          name: "Long <img src=x onerror=alert(1)>", kind: "<b>trap</b>", longitude: 10, latitude: 50, importance: 0.25),
        Place(name: "Längenfeld", kind: "village", longitude: 10.97, latitude: 47.07, importance: 0.1),
      ])
    let server = try RunningServer([folder.path])
    let map = try MapPage(server, "hills", at: "2/20/0")
    try map.page.evaluateVoid("document.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }))")
    #expect(try map.page.evaluate("document.activeElement.id", as: String.self) == "search")
    try map.page.type("lon")
    try map.page.settle("document.querySelectorAll('#found li').length === 2")
    let rows = "[...document.querySelectorAll('#found li span')].map((row) => row.textContent)"
    #expect(try Set(map.page.evaluate(rows, as: [String].self)) == ["Longs Peak", "Long <img src=x onerror=alert(1)>"])
    // Names are text.
    #expect(try map.page.evaluate("document.querySelectorAll('#found img, #found b').length", as: Int.self) == 0)
    try Screenshots.take(map.page, "viewer-search")

    // Down to the second, and there.
    func press(_ key: String) throws {
      try map.page.evaluateVoid(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '\(key)', bubbles: true, cancelable: true }))"
      )
    }
    let first = try map.page.evaluate("document.querySelector('#found [aria-selected=true]').id", as: String.self)
    try press("ArrowDown")
    #expect(
      try map.page.evaluate("document.getElementById('search').getAttribute('aria-activedescendant')", as: String.self)
        != first)
    try press("ArrowDown")
    #expect(
      try map.page.evaluate("document.getElementById('search').getAttribute('aria-activedescendant')", as: String.self)
        == first)
    try map.page.evaluateVoid("document.querySelector('.search').requestSubmit()")
    try map.settle()
    #expect(try map.page.evaluate("document.getElementById('found').hidden", as: Bool.self))
    let name = try map.page.evaluate("document.getElementById('search').value", as: String.self)
    let center = try map.state().center
    let expected = name == "Longs Peak" ? [-105.6, 40.25] : [10.0, 50]
    #expect(abs(center[0] - expected[0]) < 0.01 && abs(center[1] - expected[1]) < 0.01, "\(center)")
    try Screenshots.take(map.page, "viewer-search-found")

    // By mouse, without its accent.
    try map.page.evaluateVoid("document.getElementById('search').value = ''")
    try map.page.click("#search")
    try map.page.type("langen")
    try map.page.settle("document.querySelectorAll('#found li').length === 1")
    try map.page.click("#found-0")
    try map.settle()
    #expect(try abs(map.state().center[0] - 10.97) < 0.01)
    #expect(try map.page.evaluate("document.querySelectorAll('#map img[src=x]').length", as: Int.self) == 0)
    map.expectClean()
  }
}
