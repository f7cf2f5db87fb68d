/// Puts one picture over another (Porter-Duff source over), both straight RGBA8.
package enum Overlay {
  /// Draws `top` over `bottom`, in place.
  ///
  /// - Precondition: both buffers have the same size.
  package static func draw(_ top: PixelBuffer, over bottom: PixelBuffer) {
    precondition(top.width == bottom.width && top.height == bottom.height, "buffers of different sizes")
    draw(top.bytes, over: bottom.bytes, count: top.width * top.height)
  }

  /// Draws `count` pixels over as many others, in place.
  ///
  /// Where the top is opaque its bytes are taken, where it is transparent the bottom's stay; between, the exact result is rounded to
  /// the nearest integer.
  package static func draw(_ top: UnsafeRawPointer, over bottom: UnsafeMutableRawPointer, count: Int) {
    for i in 0..<count {
      let over = top.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      let overAlpha = over &>> 24
      if overAlpha == 0 { continue }
      let under = bottom.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      let result = overAlpha == 255 || under &>> 24 == 0 ? over : blend(over, under)
      bottom.storeBytes(of: result, toByteOffset: i &* 4, as: UInt32.self)
    }
  }

  @inline(__always)
  private static func blend(_ over: UInt32, _ under: UInt32) -> UInt32 {
    // The two weights in units of 1/255^2; their sum is the resulting alpha in the same unit and never 0 here.
    let a = (over &>> 24) &* 255
    let b = (under &>> 24) &* (255 &- over &>> 24)
    let sum = a &+ b
    let half = sum &>> 1
    let red = ((over & 255) &* a &+ (under & 255) &* b &+ half) / sum
    let green = ((over &>> 8 & 255) &* a &+ (under &>> 8 & 255) &* b &+ half) / sum
    let blue = ((over &>> 16 & 255) &* a &+ (under &>> 16 & 255) &* b &+ half) / sum
    let alpha = (sum &+ 127) / 255
    return red | green &<< 8 | blue &<< 16 | alpha &<< 24
  }
}
