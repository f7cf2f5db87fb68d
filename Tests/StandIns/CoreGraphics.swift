// Stands in for Core Graphics where that is missing: the declarations that examples/apple uses, for AppleExampleTests.

public import Foundation

public typealias CFData = NSData
public typealias CFString = NSString

public final class CGImage {
  public let bytesPerRow = 0
  public let height = 0

  public init?(
    width: Int, height: Int, bitsPerComponent: Int, bitsPerPixel: Int, bytesPerRow: Int, space: CGColorSpace,
    bitmapInfo: CGBitmapInfo, provider: CGDataProvider, decode: UnsafePointer<CGFloat>?, shouldInterpolate: Bool,
    intent: CGColorRenderingIntent
  ) { return nil }
}

public final class CGDataProvider {
  public init?(data: CFData) {}
}

public final class CGColorSpace {
  public static var sRGB: CFString { NSString() }
  public init?(name: CFString) {}
}

public struct CGBitmapInfo: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

public enum CGImageAlphaInfo: UInt32, Sendable {
  case premultipliedLast = 1
}

public enum CGColorRenderingIntent: Sendable {
  case defaultIntent
}
