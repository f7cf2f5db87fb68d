import Support
import TestSupport
import Testing
import TileImage

@testable import MapDrawing

/// Icons that librsvg would render for minutes, or with gigabytes, are refused before it is called.
@Suite(.ownThread) struct SVGCostTests {
  private func svg(_ content: String, edge: Int = 24) -> [UInt8] {
    Array(
      """
      <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="\(edge)" \
      height="\(edge)">\(content)</svg>
      """.utf8)
  }

  /// Ten copies of ten copies of ...
  private static func copies(_ element: (_ number: Int, _ inner: String) -> String, _ use: (Int) -> String) -> String {
    (0..<9).map { element($0, $0 == 0 ? "<rect width='9' height='9'/>" : String(repeating: use($0 - 1), count: 10)) }
      .joined() + use(8)
  }

  private static let bombs: [String] = [
    "<filter id='f'><feTurbulence numOctaves='100000000'/></filter><rect width='9' height='9' filter='url(#f)'/>",
    "<filter id='f'><feConvolveMatrix order='9000'/></filter><rect width='9' height='9' filter='url(#f)'/>",
    "<filter id='f'><feConvolveMatrix order='3 9000000'/></filter><rect width='9' height='9' filter='url(#f)'/>",
    // Of a style sheet, and of an element around it.
    "<style>rect { filter: url('#f') }</style><filter id='f'>"
      + String(repeating: "<feGaussianBlur stdDeviation='9'/>", count: 2000) + "</filter>"
      + String(repeating: "<rect width='9' height='9'/>", count: 2000),
    copies({ "<g id='g\($0)'>\($1)</g>" }, { "<use href='#g\($0)'/>" }),
    copies({ "<symbol id='g\($0)'>\($1)</symbol>" }, { "<use xlink:href='#g\($0)'/>" }),
    copies(
      { "<pattern id='p\($0)' width='1' height='1'>\($1)</pattern>" },
      { "<rect width='9' height='9' fill='url(#p\($0))'/>" }),
    String(repeating: "<g>", count: 200) + String(repeating: "</g>", count: 200),
    String(repeating: "<g/>", count: 30_000),
    (0..<1000).map { "<g id='g\($0)'><use href='#g\($0 + 1)'/></g>" }.joined() + "<use href='#g0'/>",
    "<image width='9' height='9' href='data:image/png;base64,AAAA'/>",
    "<image width='9' height='9' href='data:image/svg+xml,%3Csvg/%3E'/>",
  ]

  @Test(arguments: bombs.indices) func whatMayTakeMinutesIsRefused(_ bomb: Int) throws {
    let error = #expect(throws: DrawingError.self) {
      _ = try SVGDrawing(svg(Self.bombs[bomb])).picture(scale: 2)
    }
    #expect(error?.isOfStyle == true && error?.remedy.isEmpty == false)
  }

  @Test func embeddedPicturesAreSmall() throws {
    func icon(_ edge: Int) throws -> [UInt8] {
      let png = try TileEncoder(.png(PNGOptions())).encode(PixelBuffer(width: edge, height: edge))
      return svg(
        "<image width='9' height='9' href='data:image/png;base64,\(String(decoding: Base64.encode(png), as: UTF8.self))'/>"
      )
    }
    _ = try SVGDrawing(icon(64)).picture(scale: 2)
    #expect(throws: DrawingError.self) { try SVGDrawing(icon(1025)) }
  }

  /// As drawing programs write them.
  @Test(arguments: [
    // A drop shadow.
    """
    <defs><filter id="s" x="-20%" y="-20%" width="140%" height="140%"><feGaussianBlur in="SourceAlpha" \
    stdDeviation="1.5"/><feOffset dx="1" dy="1"/><feComponentTransfer><feFuncA type="linear" slope=".5"/>\
    </feComponentTransfer><feMerge><feMergeNode/><feMergeNode in="SourceGraphic"/></feMerge></filter>\
    <linearGradient id="g"><stop offset="0"/><stop offset="1" stop-color="red"/></linearGradient></defs>\
    <style>.a { fill: url(#g); filter: url(#s) }</style><g class="a" filter="url(#s)">\
    <path d="M2 2 L20 2 L20 20 Z" fill="url(#g)"/></g>
    """,
    // Hundreds of paths.
    (0..<400).map { "<path d='M\($0 % 20) \($0 / 20) l 1 0 l 0 1 c 1 1 2 2 3 3 z' style='fill:#a0c\($0 % 10)'/>" }
      .joined(),
    "<defs><marker id='m'><circle r='1'/></marker></defs><path marker-mid='url(#m)' d='M1 1 L9 9 L1 9'/>",
    "<filter id='f'><feMorphology radius='2'/></filter><rect width='9' height='9' filter='url(#f)'/>",
  ]) func usualIconsAreDrawn(_ content: String) throws {
    for scale in [1.0, 2, 4] { _ = try SVGDrawing(svg(content)).picture(scale: scale) }
  }

  /// Sizes that vary with the zoom: of each size there is a picture, but not of all at once.
  @Test func keptPicturesAreFew() throws {
    let drawing = try SVGDrawing(svg("<rect width='1000' height='1000'/>", edge: 1000))
    for step in 0..<12 { _ = try drawing.picture(scale: 1.5 + Double(step) / 10) }
    #expect((1...4).contains(drawing.keptPictureCount))
  }
}
